"""All threads compute a batch while that is faster, one thread while something else wants the processors."""

from collections.abc import Callable

from cuttlebone.inference.llama.parallelism import PROBE_SHARE, SLOW_BATCHES, Parallelism

Machine = Callable[[int], float]
"""Seconds a token, by the number of threads."""


def idle(threads: int) -> float:
    """A machine that does nothing else."""
    return 0.012 / threads


def busy(threads: int) -> float:
    """A machine on which threads wait for each other."""
    return 0.012 if threads == 1 else 0.3


def compute(parallelism: Parallelism, machine: Machine, batches: int, tokens: int = 1) -> list[int]:
    """Compute batches; answer with how many threads each was."""
    used = []
    for _ in range(batches):
        used.append(parallelism.threads)
        parallelism.took(tokens, machine(parallelism.threads) * (tokens + 2))
    return used


def test_a_model_with_one_thread_has_one() -> None:
    assert compute(Parallelism(1), idle, 20) == [1] * 20


def test_on_an_idle_machine_all_threads_compute_from_the_second_batch_on() -> None:
    assert compute(Parallelism(4), idle, 20) == [1] + [4] * 19


def test_on_a_machine_that_is_busy_from_the_beginning_one_thread_computes() -> None:
    used = compute(Parallelism(2), busy, 400)
    assert used.count(2) * busy(2) <= PROBE_SHARE * 1.5 * 400 * busy(1)


def test_batches_of_any_size_are_compared_fairly() -> None:
    parallelism = Parallelism(2)
    assert compute(parallelism, idle, 1, tokens=500) == [1]
    assert compute(parallelism, idle, 10, tokens=1) == [2] * 10


def test_when_the_machine_becomes_busy_one_thread_takes_over() -> None:
    parallelism = Parallelism(2)
    compute(parallelism, idle, 10)
    assert compute(parallelism, busy, 20) == [2] * SLOW_BATCHES + [1] * (20 - SLOW_BATCHES)


def test_one_slow_batch_is_chance() -> None:
    parallelism = Parallelism(2)
    compute(parallelism, idle, 10)
    compute(parallelism, busy, SLOW_BATCHES - 1)
    assert compute(parallelism, idle, 10) == [2] * 10


def test_when_the_machine_is_idle_again_all_threads_are_back() -> None:
    parallelism = Parallelism(2)
    compute(parallelism, idle, 10)
    compute(parallelism, busy, 10)
    used = compute(parallelism, idle, 800)
    assert used[-1] == 2
    assert used == sorted(used)


def test_what_one_thread_did_on_an_idle_machine_does_not_count_on_a_busy_one() -> None:
    def slow(threads: int) -> float:
        return 4 * idle(threads)  # all of it, so that all threads are still the better choice

    parallelism = Parallelism(2)
    compute(parallelism, idle, 10)
    assert compute(parallelism, slow, 400)[-100:] == [2] * 100
