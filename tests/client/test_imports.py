"""The client is light: who only asks a host loads nothing of one."""

import subprocess
import sys

from bounds import scaled

HEAVY = {
    "wasmtime",
    "llama_cpp",
    "llguidance",
    "fastapi",
    "starlette",
    "uvicorn",
    "jinja2",
    "sqlite3",
}
HOST = {
    "settings",
    "metrics",
    "job",
    "store",
    "service",
    "execution",
    "inference",
    "sandbox",
    "api",
}


def test_importing_the_client_loads_nothing_of_a_host() -> None:
    script = "import sys, cuttlebone.client; print('\\n'.join(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=scaled(60),
    )
    loaded = set(ran.stdout.split())

    assert "cuttlebone.http_types.job_resources" in loaded
    assert not HEAVY & loaded
    assert not {f"cuttlebone.{room}" for room in HOST} & loaded
