"""What generations side by side cost in time: no second twice."""

from dataclasses import replace

import pytest

from cuttlebone.generation.spent import Spent, shared_s, together_s


def spent(submitted_s: float, waited_s: float, prefill_s: float, decode_s: float) -> Spent:
    return Spent(
        tenant="local",
        role="writer",
        endpoint="small.gguf",
        tokens_in=1,
        tokens_cached=0,
        tokens_out=1,
        submitted_s=submitted_s,
        waited_s=waited_s,
        prefill_s=prefill_s,
        decode_s=decode_s,
    )


def test_of_one_generation_they_are_its_own() -> None:
    assert together_s([spent(5, 1, 2, 3)]) == (3, 2)


def test_of_equal_ones_they_are_those_of_one() -> None:
    assert together_s([spent(5, 1, 2, 3)] * 16) == (3, 2)


def test_a_prompt_beside_a_text_counts_as_the_text() -> None:
    assert together_s([spent(0, 0, 1, 9), spent(2, 0, 3, 1)]) == (9, 1)


def test_what_lies_between_two_generations_counts_for_neither() -> None:
    assert together_s([spent(0, 0, 1, 1), spent(10, 0, 1, 1)]) == pytest.approx((2, 2))


def test_one_that_was_never_admitted_had_neither() -> None:
    assert together_s([spent(0, 7, 0, 0)]) == (0, 0)


def test_of_none_there_is_nothing() -> None:
    assert together_s([]) == (0, 0)


def beside(from_s: float, to_s: float, *, own_s: float) -> Spent:
    return replace(spent(0, 0, 1, 1), batches_from_s=from_s, batches_to_s=to_s, own_s=own_s)


def test_what_batches_spent_on_others_is_what_was_not_its_own() -> None:
    assert shared_s([beside(10, 14, own_s=1)]) == 3


def test_generations_side_by_side_are_no_others_of_each_other() -> None:
    assert shared_s([beside(10, 14, own_s=1)] * 4) == 0


def test_one_that_had_no_batch_shared_none() -> None:
    assert shared_s([spent(0, 7, 0, 0)]) == 0
