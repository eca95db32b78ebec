"""The numbers of a sampling: what is in range and what is told of the rest."""

from dataclasses import fields
from math import inf, nan

import pytest

from cuttlebone.generation.request import Sampling
from cuttlebone.generation.sampling_bounds import SAMPLING_BOUNDS, sampling_faults


def test_every_number_of_a_sampling_has_a_range() -> None:
    assert [field.name for field in fields(Sampling)] == list(SAMPLING_BOUNDS)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=100, top_p=1, top_k=1, min_p=0, repeat_penalty=100, seed=0),
        Sampling(top_p=1e-9, top_k=40.0, min_p=1, repeat_penalty=0.1, seed=(1 << 32) - 1),
    ],
)
def test_what_is_in_range_has_no_fault(sampling: Sampling) -> None:
    assert sampling_faults(sampling) == []


@pytest.mark.parametrize(
    ("sampling", "fault"),
    [
        (Sampling(temperature=-1), "temperature is -1; it should be at least 0 and at most 100"),
        (Sampling(temperature=nan), "temperature is nan; it should be at least 0 and at most 100"),
        (Sampling(temperature=inf), "temperature is inf; it should be at least 0 and at most 100"),
        (Sampling(top_p=0), "top_p is 0; it should be above 0 and at most 1"),
        (Sampling(top_p=1.1), "top_p is 1.1; it should be above 0 and at most 1"),
        (Sampling(top_k=0), "top_k is 0; it should be a whole number, at least 1"),
        (Sampling(top_k=1.5), "top_k is 1.5; it should be a whole number, at least 1"),
        (Sampling(top_k=1 << 31), "top_k is 2147483648; it should be a whole number, at least 1"),
        (Sampling(min_p=1.1), "min_p is 1.1; it should be at least 0 and at most 1"),
        (Sampling(repeat_penalty=0), "repeat_penalty is 0; it should be above 0 and at most 100"),
        (Sampling(repeat_last=-1), "repeat_last is -1; it should be a whole number, at least 0"),
        (Sampling(seed=-1), "seed is -1; it should be a whole number, at least 0"),
        (Sampling(seed=1 << 32), "seed is 4294967296; it should be a whole number, at least 0"),
    ],
)
def test_what_is_out_of_range_is_told_with_the_range(sampling: Sampling, fault: str) -> None:
    [found] = sampling_faults(sampling)
    assert found.startswith(fault)
