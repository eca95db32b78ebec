"""How many prompt tokens go into a batch follows from how long batches take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.inference.prefill_pacer import (
    BATCH_S_MAX,
    DECODE_BONUS,
    FIRST_TOKENS,
    LONGER_AT_LEAST,
    PrefillPacer,
)

SECONDS = st.floats(1e-4, 0.02)


def learnt(fixed_s: float, each_s: float, prefill_s: float) -> PrefillPacer:
    """A pace that has seen batches of a machine with these times."""
    pace = PrefillPacer()
    for decoding in (1, 8, 16, 3, 12) * 4:
        pace.took(decoding, 0, fixed_s + each_s * decoding)
        pace.took(decoding, 5, fixed_s + each_s * decoding + 5 * prefill_s)
    for _ in range(40):
        pace.took(1, 5, fixed_s + each_s + 5 * prefill_s)
    return pace


def test_nothing_known_means_a_small_first_batch() -> None:
    assert PrefillPacer().prefill_tokens(0, 1) == FIRST_TOKENS


@given(SECONDS, SECONDS, SECONDS, st.integers(0, 16))
def test_a_batch_takes_no_longer_than_it_may(
    fixed_s: float, each_s: float, prefill_s: float, decoding: int
) -> None:
    tokens = learnt(fixed_s, each_s, prefill_s).prefill_tokens(decoding, 16)
    alone_s = fixed_s + each_s * decoding if decoding else 0.0
    longest_s = max(BATCH_S_MAX, alone_s * (1 + LONGER_AT_LEAST))
    assert tokens <= 1 or alone_s + prefill_s * tokens <= longest_s * 1.01


@given(SECONDS, SECONDS, SECONDS, st.integers(1, 16), st.integers(1, 16))
def test_beside_others_prompts_take_no_more_than_their_share(
    fixed_s: float, each_s: float, prefill_s: float, decoding: int, prefilling: int
) -> None:
    tokens = learnt(fixed_s, each_s, prefill_s).prefill_tokens(decoding, prefilling)
    whole_s = fixed_s + each_s * decoding + prefill_s * tokens
    share = prefilling / (prefilling + decoding + DECODE_BONUS)
    assert tokens * prefill_s <= share * whole_s * 1.01


@given(SECONDS, SECONDS, SECONDS, st.integers(1, 32))
def test_prompts_go_on_whatever_is_generated_beside_them(
    fixed_s: float, each_s: float, prefill_s: float, decoding: int
) -> None:
    pace = learnt(fixed_s, each_s, prefill_s)
    assert sum(pace.prefill_tokens(decoding, 1) for _ in range(10_000)) > 0


def test_many_prompts_do_not_wait_for_the_one_that_is_ready() -> None:
    # Each batch of the one generation alone has one token: all that is known is their mean.
    pace = PrefillPacer()
    for _ in range(5):
        pace.took(1, 0, 0.01)
    assert pace.prefill_tokens(1, 15) >= 7


@pytest.mark.parametrize("prefill_s", [0.0045, 0.06])
def test_a_prompt_beside_a_generation_gets_its_share_though_tokens_are_whole(
    prefill_s: float,
) -> None:
    alone_s, taken, pace = 0.012, [], PrefillPacer()
    pace.took(0, 8, 8 * prefill_s)
    for _ in range(500):
        taken.append(pace.prefill_tokens(1, 1))
        pace.took(1, taken[-1], alone_s + taken[-1] * prefill_s)
    due = alone_s / (1 + DECODE_BONUS) / prefill_s
    assert sum(taken[200:]) / 300 == pytest.approx(due, rel=0.05)


def test_a_prompt_that_grows_dear_leaves_the_generation_its_share() -> None:
    alone_s, pace, spent_s = 0.012, PrefillPacer(), 0.0
    pace.took(0, 8, 8 * 0.004)
    for number in range(1_000):
        tokens, prefill_s = pace.prefill_tokens(1, 1), 0.004 + 0.000_06 * number
        spent_s += tokens * prefill_s
        pace.took(1, tokens, alone_s + tokens * prefill_s)
    assert spent_s <= 1_000 * alone_s


def test_one_batch_in_which_the_machine_slept_changes_little() -> None:
    pace = learnt(0.01, 0.001, 0.001)
    before = pace.prefill_tokens(0, 1)
    pace.took(0, 8, 3.0)
    assert pace.prefill_tokens(0, 1) > before / 2


def test_a_fast_machine_fills_the_batch() -> None:
    assert learnt(0.001, 0.000_01, 0.000_01).prefill_tokens(0, 1) >= 512


def test_before_any_prompt_its_tokens_count_as_generated_ones() -> None:
    pace = PrefillPacer()
    for _ in range(5):
        pace.took(1, 0, 0.01)
    assert pace.prefill_tokens(0, 1) == pytest.approx(BATCH_S_MAX / 0.01, abs=1)


def test_what_a_machine_did_long_ago_is_forgotten() -> None:
    pace = learnt(0.001, 0.001, 0.001)
    for decoding in (1, 8, 16, 3, 12) * 100:
        pace.took(decoding, 0, 0.01 * decoding)
        pace.took(decoding, 5, 0.01 * decoding + 5 * 0.01)
    assert pace.prefill_tokens(0, 1) == pytest.approx(BATCH_S_MAX / 0.01, abs=1)
