"""What a batch costs is learnt from batches of any kind."""

import random

import pytest

from cuttlebone.inference.batch_costs import BatchCosts, Costs

TRUE = Costs(0.08, 0.01, 0.005)


def seconds(calls: int, decoding: int, prompt_tokens: int, costs: Costs = TRUE) -> float:
    """What a batch takes."""
    each_s = costs.each_decode_s * decoding + costs.each_prompt_s * prompt_tokens
    return costs.fixed_s * calls + each_s


def test_nothing_is_known_before_the_first_batch() -> None:
    assert BatchCosts().costs is None


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_batches_of_several_sizes_show_all_three(noise: float) -> None:
    chance, learnt = random.Random(7), BatchCosts()
    for _ in range(300):
        decoding, tokens = chance.choice([0, 1, 4, 16]), chance.choice([0, 32, 200])
        if decoding or tokens:
            took_s = seconds(1, decoding, tokens) * chance.lognormvariate(0, noise)
            learnt.took(1, decoding, tokens, took_s)
    assert learnt.costs is not None
    assert learnt.costs.fixed_s == pytest.approx(TRUE.fixed_s, rel=0.3)
    assert learnt.costs.each_decode_s == pytest.approx(TRUE.each_decode_s, rel=0.3)
    assert learnt.costs.each_prompt_s == pytest.approx(TRUE.each_prompt_s, rel=0.3)


def test_small_chunks_say_nothing_against_what_large_ones_have_shown() -> None:
    learnt = BatchCosts()
    for tokens in (32, 500, 200, 500):
        learnt.took(1, 0, tokens, seconds(1, 0, tokens))
    for _ in range(50):
        learnt.took(1, 1, 2, seconds(1, 1, 2))
    assert learnt.costs is not None
    assert learnt.costs.each_prompt_s == pytest.approx(TRUE.each_prompt_s, rel=0.3)


def test_the_load_of_the_machine_moves_what_was_not_seen_as_well() -> None:
    learnt = BatchCosts()
    for decoding, tokens in [(1, 0), (16, 0), (1, 100), (0, 500), (4, 20)] * 20:
        learnt.took(1, decoding, tokens, seconds(1, decoding, tokens))
    for _ in range(10):
        learnt.took(1, 4, 0, 3 * seconds(1, 4, 0))
    assert learnt.costs is not None
    assert learnt.costs.each_prompt_s == pytest.approx(3 * TRUE.each_prompt_s, rel=0.3)


def test_calls_share_the_fixed_cost() -> None:
    learnt = BatchCosts()
    for calls, decoding, tokens in [(1, 1, 0), (3, 8, 60), (2, 1, 100), (1, 0, 400)] * 20:
        learnt.took(calls, decoding, tokens, seconds(calls, decoding, tokens))
    assert learnt.costs is not None
    assert learnt.costs.fixed_s == pytest.approx(TRUE.fixed_s, rel=0.1)


def test_whatever_is_said_costs_stay_above_zero_and_finite() -> None:
    chance, learnt = random.Random(3), BatchCosts()
    for _ in range(2_000):
        learnt.took(
            1, chance.choice([0, 1, 64]), chance.choice([0, 1, 512]), chance.choice([0, 1e-6, 1e6])
        )
        assert learnt.costs is not None
        assert 0 < learnt.costs.fixed_s < float("inf")
        assert 0 < learnt.costs.each_decode_s < float("inf")
        assert 0 < learnt.costs.each_prompt_s < float("inf")
