"""Runs mutated modules and commands as jobs in one process, and watches what the process holds.

Run: PYTHONPATH=tests python -m hostile.fuzz --jobs 10000 [--isolation thread] [--seed N]
"""

import argparse
import gc
import os
import random
import secrets
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from cuttlebone.commands.budget import Budget
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.files import Grants
from cuttlebone.sandbox import CompileLimits, Sandbox
from cuttlebone.settings import Isolation
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import ScriptedGuest, ScriptedModel
from cuttlebone_abi import ErrorCode, Json, Signature
from hostile.corpus import attacks
from hostile.harness import LIMITS, Outcome, Target, prepare
from hostile.mutations import good_commands, good_modules, mutated

BRIEF: Final = LIMITS.model_copy(update={"time_ms": 200})
GROWTH_BYTES_MAX: Final = 10 << 20


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds: bytes of memory, threads, descriptors, children."""

    memory_bytes: int
    threads: int
    descriptors: int
    children: int

    @classmethod
    def now(cls) -> "Held":
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
        return cls(
            memory_bytes=pages * os.sysconf("SC_PAGESIZE"),
            threads=threading.active_count(),
            descriptors=len(list(Path("/proc/self/fd").iterdir())),
            children=len(children.split()),
        )


class Fuzzer:
    """Runs random jobs, each from its number and the seed alone. Owned by one thread."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._seed = seed
        self._modules = good_modules()
        self._commands = good_commands()
        # Those that end at once: bombs and loops would take the whole time of a run.
        slow = ("loop", "fill", "bomb", "copy_all", "mebibyte", "million", "400_000")
        self._attacks = [one for one in attacks() if not any(word in one.name for word in slow)]

    def run(self, number: int) -> Outcome:
        """Run one job: of a mutated module, of a mutated command, or of an attack as it is."""
        source = random.Random(f"{self._seed}/{number}")
        match number % 5:
            case 0 | 1:
                return self._target.run(mutated(source, self._modules), BRIEF)
            case 2 | 3:
                return self._say(mutated(source, self._commands))
            case _:
                attack = source.choice(self._attacks)
                outcome = self._target.run(attack.wasm())
                assert outcome.code == attack.code, f"{attack.name}: {outcome}"
                return outcome

    def _say(self, command: bytes) -> Outcome:
        def script(_guest: ScriptedGuest, _value: Json) -> Generator[Json | bytes, dict[str, Any]]:
            for _ in range(20):
                yield command
            yield {"cmd": "done", "result": 1}

        return self._target.run_guest(ScriptedGuest(script), Budget(BRIEF), IoSchemas(Signature()))


@contextmanager
def open_target(isolation: Isolation) -> Iterator[Target]:
    """A target in a folder of its own."""
    model = LocalEndpoint(lambda _report: ScriptedModel({"x": "one two three four five"}))
    model.start()
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        with (
            Grants.resolve(Path(name), ["."]) as grants,
            Sandbox(
                isolation=isolation, compile_limits=CompileLimits(cpu_s=1), probe_s_max=3.0
            ) as sandbox,
        ):
            target = Target(sandbox, grants, model)
            yield target
            target.close()
    model.stop()


OUR_WORDS: Final = ("a fault of the host; its log", "the process of the guest failed")
"""How messages of the host's own faults begin; a guest may well fail with the code `internal`."""


def check_code(outcome: Outcome, number: int) -> None:
    """Raise AssertionError if a job ended in a fault of the host, which is never the right ending."""
    if outcome.code == ErrorCode.INTERNAL and outcome.message.startswith(OUR_WORDS):
        raise AssertionError(f"job {number} ended in {outcome}")


def main() -> None:
    """Run the jobs, compare what is held after a warm-up with what is held at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--isolation", type=Isolation, default=Isolation.PROCESS)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    options = parser.parse_args()
    console = Console()
    console.print(f"seed {options.seed}, {options.jobs} jobs, isolation {options.isolation}")
    endings: Counter[str] = Counter()
    with open_target(options.isolation) as target:
        fuzzer = Fuzzer(target, options.seed)
        warm = Held.now()
        for number in range(options.jobs):
            if number == options.jobs // 2:
                warm = Held.now()
            outcome = fuzzer.run(number)
            check_code(outcome, number)
            endings[outcome.code if outcome.code in set(ErrorCode) else outcome.code[:20]] += 1
        end = Held.now()
    console.print(dict(endings.most_common(20)))
    console.print(f"half way: {warm}\nat the end: {end}")
    flat = (end.threads, end.descriptors, end.children) == (
        warm.threads,
        warm.descriptors,
        warm.children,
    )
    if not flat or end.memory_bytes - warm.memory_bytes > GROWTH_BYTES_MAX:
        sys.exit("something grew")


if __name__ == "__main__":
    main()
