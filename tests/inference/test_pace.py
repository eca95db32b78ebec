"""How many prompt tokens go into a batch follows from how long batches take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.inference.pace import BATCH_S_MAX, DECODE_BONUS, Pace


def learnt(fixed_s: float, each_s: float) -> Pace:
    """A pace that has seen batches of a machine with these times."""
    pace = Pace()
    for tokens in (1, 8, 64, 3, 20) * 4:
        pace.took(tokens, fixed_s + each_s * tokens)
    return pace


def test_nothing_known_means_a_small_first_batch() -> None:
    assert Pace().prefill_tokens(0, 1) == 32


@given(st.floats(1e-4, 0.02), st.floats(1e-4, 0.02), st.integers(0, 16))
def test_a_batch_takes_no_longer_than_it_may(fixed_s: float, each_s: float, decode: int) -> None:
    tokens = learnt(fixed_s, each_s).prefill_tokens(decode, 1)
    assert tokens == 1 or fixed_s + each_s * (decode + tokens) <= BATCH_S_MAX * 1.01


@given(st.floats(1e-4, 0.01), st.floats(1e-4, 0.01), st.integers(1, 16), st.integers(1, 16))
def test_beside_others_prompts_take_no_more_than_their_share(
    fixed_s: float, each_s: float, decoding: int, prefilling: int
) -> None:
    tokens = learnt(fixed_s, each_s).prefill_tokens(decoding, prefilling)
    whole = fixed_s + each_s * (decoding + tokens)
    share = prefilling / (prefilling + decoding + DECODE_BONUS)
    assert tokens == 1 or tokens * each_s <= share * whole * 1.01


def test_many_prompts_do_not_wait_for_the_one_that_is_ready() -> None:
    # Each batch of the one generation alone has one token: all that is known is their mean.
    pace = Pace()
    for _ in range(5):
        pace.took(1, 0.01)
    assert pace.prefill_tokens(1, 15) >= 7


def test_a_prompt_beside_a_generation_gets_its_share_though_tokens_are_whole() -> None:
    fixed_s, each_s = 0.0075, 0.0045
    pace, taken = Pace(), []
    for _ in range(20):  # at first nothing but single tokens was ever seen
        pace.took(1, fixed_s + each_s)
    for _ in range(300):
        taken.append(pace.prefill_tokens(1, 1))
        tokens = 1 + taken[-1]
        pace.took(tokens, fixed_s + tokens * each_s)
    due = (fixed_s + each_s) / (1 + DECODE_BONUS) / each_s
    assert sum(taken[100:]) / 200 == pytest.approx(due, rel=0.05)


def test_one_batch_in_which_the_machine_slept_changes_little() -> None:
    pace = learnt(0.01, 0.001)
    before = pace.prefill_tokens(0, 1)
    pace.took(8, 3.0)
    assert pace.prefill_tokens(0, 1) > before / 2


def test_a_fast_machine_fills_the_batch() -> None:
    assert learnt(0.001, 0.000_01).prefill_tokens(0, 1) == 512


def test_batches_of_one_size_give_their_mean() -> None:
    pace = Pace()
    for _ in range(5):
        pace.took(1, 0.01)
    assert pace.prefill_tokens(0, 1) == pytest.approx(BATCH_S_MAX / 0.01, abs=1)


def test_what_a_machine_did_long_ago_is_forgotten() -> None:
    pace = learnt(0.0, 0.001)
    for tokens in (1, 8, 64, 3, 20) * 100:
        pace.took(tokens, 0.01 * tokens)
    assert pace.prefill_tokens(0, 1) == pytest.approx(BATCH_S_MAX / 0.01, abs=1)
