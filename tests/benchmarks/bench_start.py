"""What a start costs: until HTTP answers, and until the first job has asked a model that the host knows.

Run: python tests/benchmarks/bench_start.py [--quick] [--json]

Processor time of the host and of all its children, which is the same on a busy machine as on a quiet one,
but for what waits for memory. Of several starts the cheapest counts: the first compiles the block and tries
the model file out, which a host does once.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx
import wasmtime
from pydantic import BaseModel

from report import Row, at_most, run_benchmark

TESTS: Final = Path(__file__).parents[1]
SPEC: Final = "name: infer\ndescription: Asks.\nblock: infer.wasm\nmodel: demo\n"
PLAIN_SPEC: Final = "name: report\ndescription: Reports.\nblock: report.wasm\n"
MODEL: Final = ("--model", "demo=demo")
WAIT_S: Final = 50
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class _Ready(BaseModel):
    url: str


@dataclass(frozen=True, slots=True)
class Start:
    """Processor seconds from the birth of the host on, and how long that took by the clock."""

    answers_s: float
    first_job_s: float
    answers_wall_s: float
    first_job_wall_s: float


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """Measure everything once."""
    rounds = 2 if quick else 6
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_blocks(folder)
        plain = [_started(folder, "report") for _ in range(rounds)]
        asking = [_started(folder, "infer", *MODEL) for _ in range(rounds)]
    return tuple(_rows(plain, asking))


def _rows(plain: Sequence[Start], asking: Sequence[Start]) -> Iterator[Row]:
    yield at_most("answers_cpu_s", min(one.answers_s for one in plain), "s", 1.0)
    yield Row("answers_wall_s", min(one.answers_wall_s for one in plain), "s")
    yield Row("first_job_cpu_s", min(one.first_job_s for one in plain), "s")
    yield at_most("first_infer_cpu_s", min(one.first_job_s for one in asking), "s", 2.0)
    yield Row("first_infer_wall_s", min(one.first_job_wall_s for one in asking), "s")


def _write_blocks(folder: Path) -> None:
    for name, document in (("infer", SPEC), ("report", PLAIN_SPEC)):
        text = (TESTS / "guests" / f"{name}.wat").read_text()
        if name == "infer":  # one token is enough: what a start costs is measured, not a model
            text = text.replace('\\"max_tokens\\":64', '\\"max_tokens\\":1 ')
        (folder / f"{name}.wasm").write_bytes(wasmtime.wat2wasm(text))
        (folder / f"{name}.yaml").write_text(document)


def _started(folder: Path, spec: str, *model: str) -> Start:
    """Start a host, run one job, end it."""
    specs = folder / "specs" / spec
    specs.mkdir(parents=True, exist_ok=True)
    for suffix in ("wasm", "yaml"):
        (specs / f"{spec}.{suffix}").write_bytes((folder / f"{spec}.{suffix}").read_bytes())
    began_s = time.perf_counter()
    with _host(specs, folder / "cache", *model) as (process, url):
        httpx.get(f"{url}/healthz").raise_for_status()
        answers_s, answers_wall_s = _cpu_s(process), time.perf_counter() - began_s
        job = (
            httpx.post(f"{url}/v1/jobs", json={"spec": spec, "input": 1}).raise_for_status().json()
        )
        answer = httpx.get(f"{url}/v1/jobs/{job['id']}?wait={WAIT_S}", timeout=2 * WAIT_S)
        assert answer.json()["status"] == "completed", answer.text
        return Start(answers_s, _cpu_s(process), answers_wall_s, time.perf_counter() - began_s)


@contextmanager
def _host(specs: Path, cache: Path, *model: str) -> Iterator[tuple[int, str]]:
    """A host as people start it, without a state of its own; its process, and where it answers."""
    folders: tuple[str | Path, ...] = ("--specs", specs, "--cache", cache)
    fixed = ("--json", "--port", "0", "--no-state", "--config", os.devnull)
    options: tuple[str | Path, ...] = (*fixed, *folders, *model)
    process = subprocess.Popen(
        [sys.executable, "-m", "cuttlebone", "serve", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdout is not None
        yield process.pid, _Ready.model_validate_json(process.stdout.readline()).url
        process.send_signal(signal.SIGTERM)


def _cpu_s(process: int) -> float:
    """Processor seconds of a process, its children, and those that it has waited for."""
    own_ticks = sum(map(int, _stat(process)[11:15]))
    threads = Path(f"/proc/{process}/task").iterdir()
    children = [int(child) for one in threads for child in (one / "children").read_text().split()]
    return own_ticks / TICKS_PER_S + sum(_cpu_s(child) for child in children)


def _stat(process: int) -> list[str]:
    """What the kernel says of a process, from its state on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


if __name__ == "__main__":
    run_benchmark("The start of a host", measure)
