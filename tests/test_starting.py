"""Waiting for the first word of a child."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cuttlebone.starting import await_word


@contextmanager
def child(script: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def waited_for(process: subprocess.Popen[bytes], told: list[float]) -> bool:
    assert process.stdout is not None
    return await_word(process, process.stdout, told.append, look_s=0.05, stalled_s_max=1.0)


def test_a_word_ends_the_wait_and_so_does_the_end_of_the_child() -> None:
    with child("print('here', flush=True)") as process:
        assert waited_for(process, [])
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
    with child("") as process:
        assert waited_for(process, [])


def test_a_child_that_works_is_waited_for_beyond_the_time_that_a_stalled_one_gets() -> None:
    works = "import time\nwhile time.process_time() < 1.5: pass\nprint(1, flush=True); input()"
    told: list[float] = []
    with child(works) as process:
        assert waited_for(process, told)
    assert told == sorted(told)
    assert told[-1] > 1.0


def test_a_child_that_hangs_is_given_up() -> None:
    with child("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)") as process:
        assert not waited_for(process, [])
