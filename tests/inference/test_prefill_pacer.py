"""How many prompt tokens go into a batch follows from how long batches take."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.inference.batch_costs import FIXED_TOKENS
from cuttlebone.inference.prefill_pacer import (
    ALONE_LONGER,
    ALONE_LONGER_ABORTABLE,
    BATCH_S_MAX,
    CHUNK_TOKENS_MIN,
    DECODE_BONUS,
    GAP_BATCHES,
    GAP_S_MAX,
    LONGER,
    LONGER_ABORTABLE,
    PROMPT_TOKENS_MIN,
    PROMPTS_AT_LEAST,
    UNSEEN_MAX,
    WORTHWHILE,
    PrefillPacer,
)

SECONDS = st.floats(1e-4, 0.02)


def learnt(
    fixed_s: float,
    each_s: float,
    prefill_s: float,
    *,
    apart: bool = False,
    abortable: bool = False,
) -> PrefillPacer:
    """A pacer that has seen batches of a machine with these times."""
    pacer = PrefillPacer(prompts_apart=apart, abortable=abortable)
    for decoding, tokens in [*product((1, 8, 16, 3, 12), (5, 64, 400, 0))] * 10:
        calls = 2 if apart and tokens else 1
        alone_s = fixed_s * calls + each_s * decoding
        pacer.took(decoding, tokens, alone_s + tokens * prefill_s)
    return pacer


def test_nothing_known_means_a_small_first_batch() -> None:
    assert PrefillPacer().prefill_tokens(0, 1) == PROMPT_TOKENS_MIN


@pytest.mark.parametrize("abortable", [False, True])
@given(fixed_s=SECONDS, each_s=SECONDS, prefill_s=SECONDS, decoding=st.integers(1, 16))
def test_beside_generations_a_batch_takes_no_longer_than_it_may(
    fixed_s: float, each_s: float, prefill_s: float, decoding: int, *, abortable: bool
) -> None:
    pacer = learnt(fixed_s, each_s, prefill_s, abortable=abortable)
    tokens = max(pacer.prefill_tokens(decoding, 16) for _ in range(20))
    alone_s = fixed_s + each_s * decoding
    longer = LONGER_ABORTABLE if abortable else LONGER
    longest_s = min(max(BATCH_S_MAX, alone_s * (1 + longer)), max(GAP_S_MAX, alone_s * GAP_BATCHES))
    assert tokens <= CHUNK_TOKENS_MIN or alone_s + prefill_s * tokens <= longest_s * 1.1


@given(SECONDS, SECONDS, SECONDS, st.integers(1, 16), st.integers(1, 16))
def test_beside_others_prompts_take_no_more_than_their_share(
    fixed_s: float, each_s: float, prefill_s: float, decoding: int, prefilling: int
) -> None:
    pacer = learnt(fixed_s, each_s, prefill_s)
    tokens = sum(pacer.prefill_tokens(decoding, prefilling) for _ in range(100))
    alone_s = fixed_s + each_s * decoding
    share = max(prefilling / (decoding + DECODE_BONUS), PROMPTS_AT_LEAST)
    assert tokens * prefill_s <= 101 * share * alone_s * 1.25 + CHUNK_TOKENS_MIN * prefill_s


@pytest.mark.parametrize("abortable", [False, True])
@given(fixed_s=SECONDS, each_s=SECONDS, prefill_s=SECONDS)
def test_prompts_alone_waste_no_more_than_a_part_on_the_fixed_cost_of_batches(
    fixed_s: float, each_s: float, prefill_s: float, *, abortable: bool
) -> None:
    tokens = learnt(fixed_s, each_s, prefill_s, abortable=abortable).prefill_tokens(0, 1)
    assert tokens >= PROMPT_TOKENS_MIN
    longer = ALONE_LONGER_ABORTABLE if abortable else ALONE_LONGER
    assert fixed_s / prefill_s <= 1.2 * max(tokens, 1) / longer + 1


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
@pytest.mark.parametrize("apart", [False, True])
def test_a_prompt_beside_a_generation_gets_its_share_though_tokens_are_whole(
    prefill_s: float, *, apart: bool
) -> None:
    alone_s, call_s, spent_s = 0.012, 0.01 if apart else 0.0, 0.0
    pacer = PrefillPacer(prompts_apart=apart)
    pacer.took(0, 8, 0.01 + 8 * prefill_s)
    for number in range(1_000):
        tokens = pacer.prefill_tokens(1, 1)
        added_s = tokens * prefill_s + (call_s if tokens else 0.0)
        pacer.took(1, tokens, alone_s + added_s)
        spent_s += added_s if number >= 200 else 0.0
    assert spent_s / 800 == pytest.approx(alone_s * PROMPTS_AT_LEAST, rel=0.1)


def test_a_prompt_that_grows_dear_leaves_the_generation_its_share() -> None:
    alone_s, pace, spent_s = 0.012, PrefillPacer(), 0.0
    pace.took(0, 8, 8 * 0.004)
    for number in range(1_000):
        tokens, prefill_s = pace.prefill_tokens(1, 1), 0.004 + 0.000_06 * number
        spent_s += tokens * prefill_s
        pace.took(1, tokens, alone_s + tokens * prefill_s)
    assert spent_s <= 1_000 * alone_s


def test_where_prompts_have_calls_of_their_own_one_is_put_off_until_it_is_worthwhile() -> None:
    pacer = learnt(0.01, 0.001, 0.001, apart=True)
    chunks = [tokens for _ in range(100) if (tokens := pacer.prefill_tokens(1, 1))]
    assert len(chunks) > 5
    assert min(chunks) * 0.001 >= 0.01 * WORTHWHILE * 0.8


def test_a_batch_without_prompts_is_seen_now_and_then() -> None:
    pacer, without = learnt(0.01, 0.001, 0.001), 0
    for _ in range(1_000):
        tokens = pacer.prefill_tokens(2, 30)
        pacer.took(2, tokens, 0.012 + 0.001 * tokens)
        without += not tokens
    assert without == pytest.approx(1_000 / (UNSEEN_MAX + 1), abs=1)


@pytest.mark.parametrize("fixed_s", [0.02, 0.12, 0.35])
def test_a_small_chunk_that_took_long_does_not_make_the_next_one_smaller(fixed_s: float) -> None:
    pacer, each_s, chunks = PrefillPacer(), fixed_s / 20, []
    for _ in range(50):
        chunks.append(pacer.prefill_tokens(0, 1))
        pacer.took(0, chunks[-1], fixed_s + each_s * chunks[-1])
    assert chunks == sorted(chunks)
    assert chunks[-1] * each_s > ALONE_LONGER * fixed_s * 0.3


def test_one_batch_in_which_the_machine_slept_changes_little() -> None:
    pace = learnt(0.01, 0.001, 0.001)
    before = pace.prefill_tokens(0, 1)
    pace.took(0, 8, 3.0)
    assert pace.prefill_tokens(0, 1) > before / 2


def test_a_fast_machine_fills_the_batch() -> None:
    assert learnt(0.001, 0.000_01, 0.000_01).prefill_tokens(0, 1) >= 512


def test_before_any_prompt_its_tokens_count_as_generated_ones() -> None:
    pacer = PrefillPacer()
    for _ in range(5):
        pacer.took(1, 0, 0.009)
    each_s = 0.009 / (FIXED_TOKENS + 1)
    due_s = max(BATCH_S_MAX - FIXED_TOKENS * each_s, ALONE_LONGER * FIXED_TOKENS * each_s)
    assert pacer.prefill_tokens(0, 1) == pytest.approx(due_s / each_s, rel=0.05)


def test_what_a_machine_did_long_ago_is_forgotten() -> None:
    pacer = learnt(0.001, 0.001, 0.001)
    for decoding in (1, 8, 16, 3, 12) * 20:
        pacer.took(decoding, 0, 0.01 + 0.01 * decoding)
        pacer.took(decoding, 5, 0.01 + 0.01 * decoding + 5 * 0.01)
    assert pacer.prefill_tokens(16, 16) == pytest.approx(0.17 * (GAP_BATCHES - 1) / 0.01, rel=0.2)
