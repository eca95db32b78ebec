"""Finds the processes that a fork server has started."""

import os
from pathlib import Path

from cuttlebone.locked_process.child import Child
from cuttlebone.locked_process.zygote_process import ZYGOTE


def children_of(process: int) -> list[int]:
    """Numbers of the processes that a process has started, oldest first."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def zygote_of(host: int | None = None) -> int:
    """The newest child of `host`, or of this process, whose command line is that of a zygote."""
    for child in reversed(children_of(host or os.getpid())):
        if ZYGOTE.encode() in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    raise AssertionError("no zygote runs")


def number_of(child: Child) -> int:
    """Number of a locked process that was not closed yet."""
    fields = Path(f"/proc/self/fdinfo/{child._handle}").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in fields if line.startswith("Pid:")))
