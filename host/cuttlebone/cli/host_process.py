"""A host in a child process, that ends with the command that started it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Final

from pydantic import BaseModel, ValidationError

from cuttlebone.errors import OperatorError
from cuttlebone.starting import LOOK_S, STALLED_S_MAX, await_word
from cuttlebone.syscalls import bind_to_parent

# -P: a file in the current folder must not stand in for a module of ours.
PROGRAM: Final = (sys.executable, "-P", "-m", "cuttlebone")
# Who may be called back is said of a host that serves, and needs a secret that this one has not.
CALLBACKS_VARIABLE: Final = "CUTTLEBONE_CALLBACK_HOSTS"
# A state folder would belong to another host, with jobs of its own, and so would a settings file.
OWN_OPTIONS: Final = ("--json", "--port", "0", "--no-state", "--config", os.devnull)
END_S_MAX: Final = 20
_LOG_BYTES_SHOWN: Final = 4096


class _Ready(BaseModel):
    """The line that `cuttlebone serve --json` writes once it answers."""

    url: str


class _Error(BaseModel):
    message: str


class _Complaint(BaseModel):
    error: _Error


@contextmanager
def host_process(
    arguments: Sequence[str],
    *,
    program: Sequence[str] = PROGRAM,
    tell: Callable[[str], None] = lambda _: None,
    look_s: float = LOOK_S,
    stalled_s_max: float = STALLED_S_MAX,
    end_s_max: float = END_S_MAX,
) -> Iterator[str]:
    """Run `cuttlebone serve` on a free port; yield its URL once it answers; raise OperatorError.

    A start takes as long as it takes, while the child lives and gets on; every `look_s` seconds
    `tell` is told how long it has been, and what the child has logged last.

    The child is in a session of its own, so that Ctrl-C reaches only this process, which then
    ends the child in its own time: it is told to stop, and killed if it does not. Should this
    process be killed, which nothing in it can answer, the kernel tells the child to stop.
    """
    with TemporaryFile() as log:
        process = subprocess.Popen(  # noqa: S603  # our own command line
            [*program, "serve", *OWN_OPTIONS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != CALLBACKS_VARIABLE},
            preexec_fn=_bound_to(os.getpid()),  # noqa: PLW1509  # commands that do this have one thread
        )
        try:
            yield _url(
                process,
                log,
                lambda waited_s: tell(_still_starting(waited_s, _tail(log))),
                look_s=look_s,
                stalled_s_max=stalled_s_max,
            )
        finally:
            _end(process, end_s_max)


def _bound_to(parent: int) -> Callable[[], None] | None:
    """Return what a child does to get SIGTERM when `parent`, its parent, ends in whatever way."""
    if sys.platform != "linux":
        return None

    def bind() -> None:
        if not bind_to_parent(parent, signal.SIGTERM):
            os._exit(1)

    return bind


def _url(
    process: subprocess.Popen[bytes],
    log: IO[bytes],
    waiting: Callable[[float], None],
    *,
    look_s: float,
    stalled_s_max: float,
) -> str:
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    if not await_word(process, process.stdout, waiting, look_s=look_s, stalled_s_max=stalled_s_max):
        raise OperatorError(
            f"the host does not start: for {stalled_s_max:g} seconds it used no processor time; "
            f"{_reason(_tail(log))}"
        )
    line = process.stdout.readline()
    try:
        return _Ready.model_validate_json(line).url
    except ValidationError:
        raise OperatorError(f"the host did not start: {_reason(_tail(log))}") from None


def _end(process: subprocess.Popen[bytes], end_s_max: float) -> None:
    process.terminate()
    try:
        process.wait(end_s_max)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _tail(log: IO[bytes]) -> str:
    end = log.seek(0, 2)
    log.seek(max(0, end - _LOG_BYTES_SHOWN))
    return log.read().decode("utf-8", "replace")


def _still_starting(waited_s: float, tail: str) -> str:
    last = tail.strip().rpartition("\n")[2]
    return f"the host is starting, for {waited_s:.0f} s so far{last and f': {last}'}"


def _reason(tail: str) -> str:
    """Return what the child's complaint says, or all that it wrote if there is none."""
    for line in reversed(tail.splitlines()):
        try:
            return _Complaint.model_validate_json(line).error.message
        except ValidationError:
            continue
    return tail.strip() or "it said nothing"
