"""The commands of docs/http-api.md, run as they stand, against the host that it names."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from api.hosted import BOUND_S, Api
from cuttlebone.api import HttpServer, create_app, listen
from cuttlebone.api.problems import KINDS
from cuttlebone.assembly import open_host_with
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.errors import ProblemCode
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Settings
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import Json

ROOT: Final = Path(__file__).parents[2]
DOCUMENT: Final = (ROOT / "docs" / "http-api.md").read_text()
END: Final = "--- end of a command ---"


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of the document and what it says that the command prints."""

    command: str
    output: str


def shown() -> list[Shown]:
    blocks = re.findall(r"^```console\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    return [
        Shown(command, output)
        for block in blocks
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


@contextmanager
def example_served(folder: Path) -> Iterator[str]:
    """Serve the example with a scripted model; yield the URL."""
    specs = shutil.copytree(ROOT / "guest-examples" / "c" / "summarize", folder / "summarize")
    settings = Settings(specs=Path(specs))
    with (
        listen("127.0.0.1", 0) as listener,
        Sandbox(folder / "cache") as sandbox,
        open_host_with(
            settings, sandbox, EndpointDirectory({"smollm2": ScriptedEndpoint()})
        ) as host,
    ):
        app = create_app(host, version="0")
        with HttpServer(app, listener, grace_s=1) as server:
            yield server.url


def run_all(commands: list[Shown], url: str) -> list[str]:
    """Run the commands in one shell, as a reader would; return what each printed."""
    lines = [one.command.replace("http://127.0.0.1:8420", url) for one in commands]
    script = "\n".join(f"{line}\necho; echo '{END}'" for line in lines)
    ran = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=BOUND_S * 4, check=True
    )
    assert not ran.stderr
    return ran.stdout.split(END)[:-1]


def form(output: str) -> Json:
    """What has to agree between two outputs: the keys of JSON, header names, kinds of events."""
    try:
        return keys(json.loads(output))
    except ValueError:
        pass
    output = output.strip()
    head, _, body = output.partition("\n\n")
    if output.startswith("HTTP/"):
        headers = {line.partition(":")[0] for line in head.splitlines()[1:]}
        return [head.split()[1], sorted(headers), keys(json.loads(body))]
    if output.startswith("event:"):
        return sorted(set(re.findall(r"^event: (\w+)$", output, re.MULTILINE)))
    return output


def keys(value: Json) -> Json:
    """The value with everything but its keys left out."""
    match value:
        case dict():
            return {key: keys(child) for key, child in value.items()}
        case list():
            return [keys(child) for child in value]
        case _:
            return None


@pytest.mark.skipif(shutil.which("curl") is None, reason="the commands need curl")
def test_every_command_prints_what_the_document_shows(tmp_path: Path) -> None:
    commands = shown()
    with example_served(tmp_path) as url:
        printed = run_all(commands, url)

    assert len(commands) > 12
    for one, output in zip(commands, printed, strict=True):
        assert form(output) == form(one.output), one.command


def test_every_problem_code_stands_in_the_document_with_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", DOCUMENT, re.MULTILINE)

    assert {(int(status), code) for status, code in rows} == {
        (KINDS[code].status, code) for code in ProblemCode
    }


def test_every_route_stands_in_the_document(api: Api) -> None:
    paths = api.http.get("/openapi.json").json()["paths"]

    for path in paths:
        assert path.replace("job_id", "id") in DOCUMENT, path
