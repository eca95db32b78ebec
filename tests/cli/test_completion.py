"""What a shell completes, from the table of commands and from a host, and how little that loads."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from cli.terminals import run_process
from cuttlebone.cli import completion
from cuttlebone.cli.completion import TABLE_NAME, read_table
from cuttlebone.cli.completion_table import table, written
from cuttlebone.cli.known_names import ANSWER_BYTES_MAX, is_plain, job_ids, spec_names
from cuttlebone.client import Client

HEAVY = ("wasmtime", "llama_cpp", "fastapi", "pydantic_settings", "httpx", "cuttlebone.client")
NOWHERE = "http://127.0.0.1:1"


def _words(line: str, url: str = NOWHERE) -> dict[str, str]:
    """The environment in which bash asks for the last word of a line."""
    return {
        "_CUTTLEBONE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "CUTTLEBONE_URL": url,
    }


def _completed(line: str, url: str = NOWHERE) -> list[str]:
    ended = run_process(environment=_words(line, url))
    assert (ended.status, ended.err) == (0, "")
    return ended.out.split()


def test_the_table_is_that_of_the_commands_as_they_are() -> None:
    assert read_table() == table(), "run `python -m cuttlebone.cli.completion_table`"


def test_the_file_of_the_table_is_as_it_is_written() -> None:
    file = Path(completion.__file__).with_name(TABLE_NAME)
    assert file.read_text() == written(read_table())


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("cuttlebone ser", ["serve"]),
        ("cuttlebone job ca", ["cancel"]),
        ("cuttlebone job events --af", ["--after"]),
        ("cuttlebone jobs --status ca", ["cancelled"]),
        ("cuttlebone serve --callback-h", ["--callback-host"]),
        ("cuttlebone serve --nothing", []),
    ],
)
def test_a_shell_is_told_commands_options_and_words(line: str, completed: list[str]) -> None:
    assert _completed(line) == completed


@pytest.mark.parametrize("line", ["cuttlebone ", "cuttlebone serve --mo", "cuttlebone job show "])
def test_completing_loads_nothing_that_works(line: str) -> None:
    program = (
        "import sys\nfrom cuttlebone.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print(sorted(set({HEAVY!r}) & sys.modules.keys()))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        env={**os.environ, **_words(line)},
    )
    assert ended.stdout.decode().splitlines()[-1] == "[]"


@pytest.mark.e2e
def test_a_shell_is_told_what_a_host_knows(host: str) -> None:
    with Client(host) as client:
        job = client.submit("complete", {"word": "a"}, job_id="to-be-completed")
        client.wait(job.id)
        blocks = [block.digest for block in client.blocks()]
    assert _completed("cuttlebone submit com", host) == ["complete"]
    assert _completed("cuttlebone job show to-be", host) == [job.id]
    assert _completed(f"cuttlebone job show --url {host} to-be-") == [job.id]
    assert _completed("cuttlebone job wait la", host) == ["last"]
    assert set(_completed("cuttlebone block forget sha", host)) == set(blocks)


@contextmanager
def _answering(body: bytes, status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Leave stderr alone."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no JSON", 200),
        (b'["jobs"]', 200),
        (b'{"jobs": [1, {"id": 2}, {}]}', 200),
        (b'{"jobs": [{"id": "refused-1"}]}', 403),
        (b'{"jobs": [{"id": "' + b"a" * ANSWER_BYTES_MAX + b'"}]}', 200),
    ],
)
def test_an_answer_that_cannot_be_used_completes_nothing(body: bytes, status: int) -> None:
    with _answering(body, status) as url:
        assert list(job_ids(url)) == []


@pytest.mark.parametrize("url", [NOWHERE, "unix:/none", "http://[", "http://a:port", "\x00"])
def test_where_no_host_answers_nothing_is_completed(url: str) -> None:
    assert list(spec_names(url)) == []


@pytest.mark.parametrize("name", ["$(reboot)", "a b", "a;b", "`b`", "\x1b[2J", "", "a" * 201])
def test_a_name_that_a_shell_would_take_up_is_left_out(name: str) -> None:
    assert not is_plain(name)
