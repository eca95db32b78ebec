"""What an inference thread answers, in which order, and what a cancel or a failure leaves of it."""

import dataclasses

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import Finished, Piece
from cuttlebone.generation.request import JsonSchema
from cuttlebone.inference.sequence import BatchLimits
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import ErrorCode, Finish
from inference.conftest import BOUND_S, STORY, ask, collect, failure, serving, wait_until_decoding


def test_an_empty_answer_is_an_answer() -> None:
    with serving(ScriptedModel({"nothing": ""})) as thread:
        pieces, outcome = collect(thread.submit(ask("say nothing")))
    assert isinstance(outcome, Finished)
    assert (pieces, outcome.text, outcome.finish, outcome.tokens_out) == ([], "", Finish.EOS, 1)


def test_a_decode_failure_ends_its_sequences_alone() -> None:
    model = ScriptedModel(STORY)
    model.fail_on("poison")
    with serving(model) as thread:
        broken = thread.submit(ask("poison", job="a"))
        well = thread.submit(ask("story", job="b"))
        assert failure(broken).code is ErrorCode.INFER_FAILED
        assert isinstance(collect(well)[1], Finished)


def test_a_sequence_that_breaks_among_others_does_not_change_their_text() -> None:
    model = ScriptedModel({**STORY, "poison": "a b c d"})
    with serving(model) as thread:
        undisturbed = collect(thread.submit(ask("story", max_tokens=30)))[1]
        model.hold()
        requests = [ask("story", max_tokens=30, job="well"), ask("poison", job="broken")]
        well, broken = (thread.submit(request) for request in requests)
        wait_until_decoding(model)
        model.fail_on("b")
        model.release()
        assert failure(broken).code is ErrorCode.INFER_FAILED
        outcome = collect(well)[1]
    assert isinstance(outcome, Finished)
    assert isinstance(undisturbed, Finished)
    assert outcome.text == undisturbed.text


def test_cancel_in_the_queue_costs_nothing_and_lets_the_next_one_in() -> None:
    model = ScriptedModel(STORY, context_tokens=64, cells=64)
    with serving(model) as thread:
        holding = thread.submit(dataclasses.replace(ask("story"), asks_verdict=True))
        assert isinstance(holding.next(BOUND_S), Piece)
        queued = thread.submit(ask("b" * 30, job="b"))
        after = thread.submit(ask("c" * 30, job="c"))
        queued.cancel()
        assert (failure(queued).tokens_in, queued.admitted) == (0, False)
        holding.cancel()
        assert isinstance(collect(after)[1], Finished)


def test_cancel_during_prefill_counts_what_was_evaluated() -> None:
    model = ScriptedModel(context_tokens=2000, cells=2000)
    with serving(model) as thread:
        model.hold()
        generation = thread.submit(ask("x" * 1500))
        wait_until_decoding(model)
        generation.cancel()
        model.release()
        outcome = failure(generation)
        evaluated = sum(len(run.tokens) for batch in model.batches for run in batch)
    assert outcome.code is ErrorCode.CANCELLED
    assert outcome.tokens_in == evaluated < 1500


def test_a_cancel_leaves_the_text_of_others_as_it_is() -> None:
    model = ScriptedModel(STORY)
    with serving(model) as thread:
        undisturbed = collect(thread.submit(ask("story", max_tokens=30)))
        model.hold()
        well = thread.submit(ask("story", max_tokens=30, job="well"))
        others = [thread.submit(ask("story", job=f"other {n}", tenant=f"{n}")) for n in range(5)]
        wait_until_decoding(model)
        for other in others:
            other.cancel()
        model.release()
        assert collect(well)[0] == undisturbed[0]


def test_a_generation_that_waits_for_room_says_so_and_is_served_when_there_is() -> None:
    model = ScriptedModel(STORY, context_tokens=64, cells=64)
    with serving(model) as thread:
        first = thread.submit(dataclasses.replace(ask("story"), asks_verdict=True))
        assert isinstance(first.next(BOUND_S), Piece)
        second = thread.submit(ask("story", job="second", max_tokens=40, tenant="b"))
        assert not second.admitted
        first.verdict(stop=True)
        assert isinstance(collect(second)[1], Finished)
        assert second.waited_s > 0


def test_whoever_waits_for_room_is_served_when_another_comes_to_its_end_by_itself() -> None:
    model = ScriptedModel(STORY, context_tokens=64, cells=64)
    with serving(model) as thread:
        model.hold()
        generations = [
            thread.submit(ask("story", job=str(job), tenant=str(job))) for job in range(4)
        ]
        wait_until_decoding(model)
        model.release()
        for generation in generations:
            assert isinstance(collect(generation)[1], Finished)


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_the_text_is_the_same_however_far_ahead_of_its_guest_a_generation_may_be(lag: int) -> None:
    with serving(ScriptedModel(STORY), BatchLimits(verdict_lag_max=lag)) as thread:
        generation = thread.submit(
            dataclasses.replace(ask("story", max_tokens=30), asks_verdict=True)
        )
        taken = []
        for stop in (False, False, True):
            piece = generation.next(BOUND_S)
            assert isinstance(piece, Piece)
            taken.append(piece.text)
            generation.verdict(stop)
        outcome = generation.next(BOUND_S)
        while isinstance(outcome, Piece):  # what was generated ahead and delivered already
            outcome = generation.next(BOUND_S)
    assert isinstance(outcome, Finished)
    assert (outcome.text, outcome.finish) == ("Once upon a", Finish.GUEST)
    assert 3 <= outcome.tokens_out <= 3 + lag


def test_a_stop_on_the_last_piece_of_all_is_still_the_guests() -> None:
    with serving(ScriptedModel()) as thread:
        generation = thread.submit(dataclasses.replace(ask(max_tokens=1), asks_verdict=True))
        assert generation.next(BOUND_S) == Piece("ok")
        generation.verdict(stop=True)
        outcome = generation.next(BOUND_S)
    assert isinstance(outcome, Finished)
    assert outcome.finish is Finish.GUEST


def test_verdicts_that_nobody_asked_for_are_ignored() -> None:
    with serving(ScriptedModel(STORY)) as thread:
        generation = thread.submit(ask("story"))
        generation.verdict(stop=True)
        outcome = collect(generation)[1]
    assert isinstance(outcome, Finished)
    assert outcome.finish is Finish.EOS


def test_prompts_of_one_tenant_share_what_they_begin_with() -> None:
    model = ScriptedModel()
    with serving(model) as thread:
        instruction = "AnswerText with care. " * 20
        collect(thread.submit(ask(instruction + "one")))
        outcome = collect(thread.submit(ask(instruction + "two", job="b")))[1]
        stranger = collect(thread.submit(ask(instruction + "two", job="c", tenant="other")))[1]
    assert isinstance(outcome, Finished)
    assert isinstance(stranger, Finished)
    assert outcome.tokens_cached >= len(instruction)
    assert stranger.tokens_cached == 0


def test_jobs_submitted_together_evaluate_a_common_beginning_once() -> None:
    model = ScriptedModel()
    with serving(model) as thread:
        model.hold()
        first = thread.submit(ask())
        wait_until_decoding(model)
        instruction = "AnswerText with care. " * 20
        generations = [thread.submit(ask(f"{instruction}{n}", job=str(n))) for n in range(8)]
        model.release()
        for generation in (first, *generations):
            assert isinstance(collect(generation)[1], Finished)
        evaluated = sum(len(run.tokens) for batch in model.batches for run in batch)
    assert evaluated < 2 * len(instruction)


def test_a_bad_constraint_is_refused_before_anything_is_spent() -> None:
    model = ScriptedModel()
    with serving(model) as thread:
        collect(thread.submit(ask(max_tokens=1)))
        spent = len(model.batches)
        with pytest.raises(CommandError) as refusal:
            thread.submit(dataclasses.replace(ask(), constraint=JsonSchema("no schema")))
        assert refusal.value.code is ErrorCode.INVALID_GRAMMAR
        assert len(model.batches) == spent
