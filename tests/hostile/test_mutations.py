"""A sample of what `hostile.fuzz` does at length: no mutation ends in a fault of the host."""

import secrets

from hostile.fuzz import Fuzzer, Held, check_code
from hostile.harness import Target

JOBS = 300


def test_mutated_jobs_end_in_an_envelope_and_leave_nothing_behind(target: Target) -> None:
    seed = secrets.randbelow(1 << 32)
    print(f"seed {seed}")  # noqa: T201  # pytest shows it when the test fails
    fuzzer = Fuzzer(target, seed)
    for number in range(JOBS // 3):
        check_code(fuzzer.run(number), number)
    before = Held.now()
    for number in range(JOBS // 3, JOBS):
        check_code(fuzzer.run(number), number)
    after = Held.now()
    assert (after.threads, after.children) == (before.threads, before.children)
    # Up to a fixed number of compiled modules stay in memory, each with a descriptor at most.
    assert after.descriptors - before.descriptors <= 64
