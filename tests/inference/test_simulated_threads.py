"""One thread or all, on simulated machines that are idle, busy, or busy now and then: nothing sticks, nothing starves.

`pytest tests/inference/test_simulated_threads.py --trials 1000 --timeout 0` is a wide sweep.
"""

import math
import random
from dataclasses import dataclass
from enum import Enum

import pytest

from cuttlebone.inference.llama.parallelism import Parallelism

TRIALS_SHORT = 60
BATCHES = 3_000
SIZES = ([1], [1, 2, 3], [8, 12, 16], [1, 1, 1, 512], [*[16] * 10, 200, 500], [512])
"""Tokens of calls: generations of few and of many jobs, prompts, and both by turns."""


class Company(Enum):
    """What else wants the processors."""

    NOBODY = "idle"
    ALWAYS = "busy"
    NOW_AND_THEN = "busy now and then"
    SLOWS_ALL = "slower now and then, whatever the threads"


@dataclass(frozen=True, slots=True)
class Machine:
    """What a call costs with one thread, and with all."""

    fixed_s: float
    each_s: float
    threads: int
    speedup: float
    """How many times faster all threads are where nothing else runs."""
    jam: float
    """How many times slower than that where something does: threads wait for each other."""
    slowdown: float
    """The same for one thread."""

    @classmethod
    def of(cls, chance: random.Random) -> "Machine":
        """One from a fast one to a slow one."""
        each_s = math.exp(chance.uniform(math.log(0.000_1), math.log(0.05)))
        threads = chance.choice([2, 4, 8])
        return cls(
            fixed_s=each_s * chance.uniform(4, 24),
            each_s=each_s,
            threads=threads,
            speedup=threads ** chance.uniform(0.5, 0.95),
            jam=chance.choice([1.5, 5, 30]),
            slowdown=chance.choice([1, 1.3, 2]),
        )

    def seconds(self, tokens: int, company: Company, *, now: bool) -> tuple[float, float]:
        """What a call takes with one thread and with all; `now` is whether something else runs."""
        alone_s = self.fixed_s + self.each_s * tokens
        together_s = alone_s / self.speedup
        if not now:
            return alone_s, together_s
        if company is Company.SLOWS_ALL:
            return 3 * alone_s, 3 * together_s
        return alone_s * self.slowdown, together_s * self.jam


def times_best(seed: int, company: Company) -> float:
    """What all batches take, as a multiple of what they take if each had the better number of threads."""
    chance = random.Random(seed)
    machine, sizes = Machine.of(chance), chance.choice(SIZES)
    period, noise = chance.choice([50, 300, 1_000]), chance.choice([0, 0.1, 0.2])
    parallelism = Parallelism(machine.threads)
    took_s = best_s = 0.0
    for number in range(BATCHES):
        now = company is Company.ALWAYS or (
            company is not Company.NOBODY and number // period % 2 == 1
        )
        tokens = chance.choice(sizes)
        alone_s, together_s = machine.seconds(tokens, company, now=now)
        disturbed = chance.lognormvariate(0, noise)
        call_s = disturbed * (alone_s if parallelism.threads == 1 else together_s)
        parallelism.took(tokens, call_s)
        took_s += call_s
        best_s += disturbed * min(alone_s, together_s)
    return took_s / best_s


@pytest.mark.parametrize(
    ("company", "times_best_max"),
    [
        (Company.NOBODY, 1.05),
        (Company.ALWAYS, 1.25),
        (Company.SLOWS_ALL, 1.05),
        # Nobody can know when it begins and ends; trying costs, and so does not trying.
        (Company.NOW_AND_THEN, 1.7),
    ],
    ids=lambda value: value.value if isinstance(value, Company) else "",
)
def test_the_number_of_threads_is_not_much_worse_than_the_best_for_each_batch(
    company: Company, times_best_max: float, pytestconfig: pytest.Config
) -> None:
    count: int = pytestconfig.getoption("--trials") or TRIALS_SHORT
    tried = {seed: times_best(seed, company) for seed in range(count)}
    assert max(tried.values()) <= times_best_max, max(tried, key=tried.__getitem__)
