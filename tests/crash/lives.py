"""The lives of one host: the same folder and port, a new process each time."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from bounds import scaled
from cuttlebone.starting import await_word
from cuttlebone.store.sqlite.connecting import connect
from cuttlebone.store.sqlite.reading import FILE_NAME

END_S_MAX: Final = scaled(180)
TESTS: Final = Path(__file__).parents[1]


def free_port() -> int:
    """A port that nobody listens on now, below those that the kernel gives to clients.

    A client that connects to one of its own while the host is dead may meet itself there.
    """
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port among a hundred")


class Lives:
    """Owner: one test, which kills and starts the host in turn and ends with `close`."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.paid = folder / "paid"
        self.port = free_port()
        self._specs = folder / "specs"
        self._specs.mkdir()
        (self._specs / "a.txt").write_text("a text")
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where every life of the host answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begin a life; return once it answers."""
        arguments = map(str, (self._specs, self.state, self.port, self.paid))
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).parent / "host.py"), *arguments],
                env={**os.environ, "PYTHONPATH": f"{TESTS}:{os.environ.get('PYTHONPATH', '')}"},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        answered = await_word(self._process, self._process.stdout, lambda _waited_s: None)
        line = self._process.stdout.readline() if answered else b""
        assert line.strip() == self.url.encode(), (line, self._log.read_text()[-4000:])

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """End a life and return its status."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdout is not None
        process.send_signal(number)
        status = process.wait(END_S_MAX)
        process.stdout.close()
        return status

    def close(self) -> None:
        """End the last life, if there is one."""
        if self._process is not None:
            self.end()

    def query(self, statement: str) -> Sequence[tuple[object, ...]]:
        """Ask the store that the last life left."""
        with closing(connect(self.state / FILE_NAME, read_only=True)) as connection:
            return [tuple(row) for row in connection.execute(statement)]

    def paid_for(self) -> list[str]:
        """The generations that were evaluated so far, in all lives, in order."""
        return self.paid.read_text().split() if self.paid.exists() else []
