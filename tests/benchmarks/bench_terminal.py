"""What a person at a terminal waits for: the start of the command line, and each completion of a shell.

python tests/benchmarks/bench_terminal.py
"""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from report import Row, at_most, run_benchmark

_BOUND_S: Final = 0.3
_LINES: Final = ("cuttlebone ru", "cuttlebone serve --mo", "cuttlebone job show ")


def _measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # what `run_benchmark` calls it with
    rounds = 3 if quick else 11
    starts = {"cuttlebone --version": _used_s(["--version"], {}, rounds)}
    for line in _LINES:
        asked = {
            "_CUTTLEBONE_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        }
        starts[f"{line}<TAB>"] = _used_s([], asked, rounds)
    return [at_most(name, used_s, "s of processor", _BOUND_S) for name, used_s in starts.items()]


def _used_s(arguments: Sequence[str], environment: Mapping[str, str], rounds: int) -> float:
    """The processor time of a process of the command line, median of so many."""
    return median(_once_s(arguments, environment) for _ in range(rounds))


def _once_s(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    before = _children_s()
    subprocess.run(
        [sys.executable, "-m", "cuttlebone", *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return _children_s() - before


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    run_benchmark("Start of the command line", _measure)
