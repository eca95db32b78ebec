"""The command line as a user has it: in this process, in one of its own, or on a terminal."""

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bounds import scaled
from cuttlebone_abi import Json

COMMAND = (sys.executable, "-m", "cuttlebone")
BOUND_S = scaled(60)


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def result(self) -> Json:
        """What it wrote to stdout, which is JSON."""
        return json.loads(self.out)

    @property
    def complaint(self) -> Json:
        """The last line of stderr, which is a JSON complaint."""
        return json.loads(self.err.splitlines()[-1])["error"]


def run_process(
    *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
) -> Ended:
    """Run the command in a process of its own, without a terminal."""
    ended = subprocess.run(
        [*COMMAND, *arguments],
        input=stdin,
        capture_output=True,
        timeout=BOUND_S,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@contextmanager
def started(
    *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command with its output in pipes, and end it with the test."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


class OnTerminal:
    """A command whose stderr is a terminal. Owned by one test."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self._terminal, inside = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=inside,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **(environment or {})},
        )
        os.close(inside)
        self._written = ""

    @property
    def shown(self) -> str:
        """What the terminal has been sent, without changes of colour and weight."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self._written)

    @property
    def coloured(self) -> bool:
        """Whether the terminal has been sent a colour."""
        codes = re.findall(r"\x1b\[([0-9;]*)m", self._written)
        return any(re.search(r"(^|;)(3[0-8]|9[0-7])(;|$)", one) for one in codes)

    def read_until(self, text: str) -> None:
        """Wait until the terminal has shown `text`."""
        while text not in self.shown:
            ready, _, _ = select.select([self._terminal], [], [], BOUND_S)
            assert ready, f"{text!r} never came; seen: {self.shown!r}"
            assert self._read(), f"{text!r} never came; seen: {self.shown!r}"

    def end(self) -> Ended:
        """Wait for the end of the command."""
        out, _ = self.process.communicate(timeout=BOUND_S)
        while self._read():
            pass
        return Ended(self.process.returncode, out.decode(), self.shown)

    def close(self) -> None:
        """End the command if it still runs, and give back the terminal."""
        self.process.kill()
        self.process.communicate()
        os.close(self._terminal)

    def _read(self) -> bool:
        """Take in what the terminal shows; return False once the other side is closed."""
        with suppress(OSError):  # How Linux says so.
            data = os.read(self._terminal, 65536)
            self._written += data.decode(errors="replace")
            return bool(data)
        return False
