"""What every endpoint does, a model in this process and a scripted one alike."""

import dataclasses
from collections.abc import Iterator

import pytest

from cuttlebone.endpoints.endpoint import Mode, Weakness
from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import Finished, Piece
from cuttlebone.generation.request import GenerationRequest, Grammar, JsonSchema, Sampling
from cuttlebone.generation.state import Phase, State
from cuttlebone.generation.ticket import Generation
from cuttlebone_abi import ErrorCode, Finish
from endpoints.rigs import BOUND_S, CONTEXT_TOKENS, HALFWAY, SLOTS, LocalRig, Rig, ScriptedRig
from inference.conftest import ask, collect, failure


@pytest.fixture(params=[LocalRig, ScriptedRig])
def loading(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """An endpoint that was started and has half of its model."""
    rig: Rig = request.param()
    yield rig
    rig.release()
    rig.endpoint.stop()


@pytest.fixture
def rig(loading: Rig) -> Rig:
    """One that is ready."""
    loading.load()
    return loading


def listening(prompt: str) -> GenerationRequest:
    """A request that goes on only where its verdicts say so."""
    return dataclasses.replace(ask(prompt), asks_verdict=True)


def first_piece(generation: Generation) -> None:
    assert isinstance(generation.next(BOUND_S), Piece)


# A generation that ends well.


def test_the_pieces_concatenate_to_the_text(rig: Rig) -> None:
    pieces, outcome = collect(rig.endpoint.submit(ask("count")))

    assert isinstance(outcome, Finished)
    assert "".join(pieces) == outcome.text == "one two three four five"
    assert (outcome.finish, outcome.tokens_out) == (Finish.EOS, 6)


def test_an_empty_answer_is_an_answer(rig: Rig) -> None:
    pieces, outcome = collect(rig.endpoint.submit(ask("silence")))

    assert isinstance(outcome, Finished)
    assert (pieces, outcome.text, outcome.tokens_out) == ([], "", 1)


@pytest.mark.parametrize(
    ("asked", "text", "finish"),
    [
        (ask("count", max_tokens=2), "one two", Finish.LENGTH),
        (ask("count", max_tokens=500), "one two three four five", Finish.EOS),
        (dataclasses.replace(ask("count"), stop=(" four",)), "one two three", Finish.STOP),
        (listening("count"), "one two three four five", Finish.EOS),
    ],
)
def test_where_a_text_ends_is_told(
    rig: Rig, asked: GenerationRequest, text: str, finish: Finish
) -> None:
    _, outcome = collect(rig.endpoint.submit(asked))

    assert isinstance(outcome, Finished)
    assert (outcome.text, outcome.finish) == (text, finish)


def test_the_seed_that_was_used_is_reported(rig: Rig) -> None:
    request = dataclasses.replace(ask("count"), sampling=Sampling(seed=7))
    _, outcome = collect(rig.endpoint.submit(request))

    assert isinstance(outcome, Finished)
    assert outcome.seed == 7


def test_a_verdict_of_stop_ends_the_text_with_the_piece_that_was_shown(rig: Rig) -> None:
    generation = rig.endpoint.submit(listening("count"))
    first_piece(generation)
    generation.verdict(stop=False)
    first_piece(generation)
    generation.verdict(stop=True)
    outcome = generation.next(BOUND_S)

    assert isinstance(outcome, Finished)
    assert (outcome.text, outcome.finish) == ("one two", Finish.GUEST)
    late = Weakness.LATE_STOP in rig.endpoint.capabilities.weakens
    assert late or outcome.tokens_out == 2


def test_what_was_spent_is_one_reading_with_who_asked_and_who_served(rig: Rig) -> None:
    generation = rig.endpoint.submit(ask("count", tenant="someone"))
    outcome = collect(generation)[1]
    spent = generation.spent(role="writer", endpoint=rig.endpoint.name)

    assert isinstance(outcome, Finished)
    assert (spent.tenant, spent.role, spent.endpoint) == ("someone", "writer", "rig")
    assert (spent.tokens_in, spent.tokens_out) == (outcome.tokens_in, outcome.tokens_out)
    assert spent.tokens_cached == outcome.tokens_cached
    assert min(spent.waited_s, spent.prefill_s, spent.decode_s) >= 0
    assert spent.waited_s + spent.prefill_s + spent.decode_s <= generation.age_s


# One that does not.


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (ask("count", max_tokens=0), ErrorCode.INVALID_ARGUMENT),
        (dataclasses.replace(ask(), turns=None), ErrorCode.INVALID_ARGUMENT),
        (ask("x" * CONTEXT_TOKENS), ErrorCode.CONTEXT_OVERFLOW),
        (
            dataclasses.replace(ask(), constraint=JsonSchema({"type": "strange"})),
            ErrorCode.INVALID_GRAMMAR,
        ),
        (
            dataclasses.replace(ask(), constraint=Grammar("(" * 2_000)),
            ErrorCode.INVALID_GRAMMAR,
        ),
    ],
)
def test_what_cannot_be_served_is_refused_at_no_cost(
    rig: Rig, asked: GenerationRequest, code: ErrorCode
) -> None:
    with pytest.raises(CommandError) as refusal:
        rig.endpoint.submit(asked)

    assert refusal.value.code is code
    assert rig.endpoint.figures.tokens_in == 0


def test_a_cancel_reaches_one_that_has_its_place(rig: Rig) -> None:
    rig.hold()
    generation = rig.endpoint.submit(ask("count"))
    rig.await_held()
    generation.cancel()
    rig.release()

    assert failure(generation).code is ErrorCode.CANCELLED


def test_a_cancel_reaches_one_that_waits_for_a_verdict(rig: Rig) -> None:
    generation = rig.endpoint.submit(listening("count"))
    first_piece(generation)
    generation.cancel()

    assert failure(generation).code is ErrorCode.CANCELLED
    assert generation.tokens_out >= 1


def test_a_cancel_reaches_one_that_waits_for_its_place_at_once(rig: Rig) -> None:
    running = [rig.endpoint.submit(listening("count")) for _ in range(SLOTS)]
    for generation in running:
        first_piece(generation)
    waiting = rig.endpoint.submit(ask("count"))
    waiting.cancel()

    assert waiting.ended
    assert (waiting.tokens_in, waiting.tokens_out) == (0, 0)


def test_a_cancel_reaches_one_that_waits_for_the_model_at_once(loading: Rig) -> None:
    waiting = loading.endpoint.submit(ask("count"))
    waiting.cancel()

    assert waiting.ended
    assert failure(waiting).code is ErrorCode.CANCELLED


def test_a_cancel_after_the_end_changes_nothing(rig: Rig) -> None:
    generation = rig.endpoint.submit(ask("count"))
    ended = collect(generation)[1]
    generation.cancel()

    assert generation.next(0) == ended


# Many at once.


def test_no_more_than_its_slots_have_a_place_at_once(rig: Rig) -> None:
    running = [rig.endpoint.submit(listening("count")) for _ in range(SLOTS)]
    for generation in running:
        first_piece(generation)
    waiting = rig.endpoint.submit(ask("count"))
    before = waiting.next(0), waiting.admitted
    running[0].verdict(stop=True)

    assert rig.endpoint.capabilities.slots == SLOTS
    assert before == (None, False)
    assert isinstance(collect(waiting)[1], Finished)


def test_figures_count_what_was_and_show_what_is(rig: Rig) -> None:
    outcome = collect(rig.endpoint.submit(ask("count")))[1]
    cancelled, running = (rig.endpoint.submit(listening("count")) for _ in range(SLOTS))
    first_piece(cancelled)
    first_piece(running)
    cancelled.cancel()
    failure(cancelled)
    rig.endpoint.submit(listening("count"))
    rig.endpoint.submit(ask("count"))
    running.verdict(stop=False)
    first_piece(running)  # so that what was submitted has been looked at
    figures = rig.endpoint.figures

    assert isinstance(outcome, Finished)
    assert (figures.finished, figures.failed, figures.cancelled) == (1, 0, 1)
    assert figures.tokens_in >= 2 * outcome.tokens_in
    assert figures.tokens_out >= outcome.tokens_out + 3
    assert (figures.running, figures.waiting) == (SLOTS, 1)


# States.


def test_one_that_loads_says_how_far_it_is_and_has_no_numbers_yet(loading: Rig) -> None:
    capabilities = loading.endpoint.capabilities

    assert loading.endpoint.state == State(Phase.LOADING, progress=HALFWAY)
    assert (capabilities.context_tokens, capabilities.slots) == (None, None)
    assert loading.endpoint.counter(0) is None


def test_one_that_is_ready_says_what_it_can_do(rig: Rig) -> None:
    capabilities = rig.endpoint.capabilities

    assert rig.endpoint.state == State(Phase.READY)
    assert (capabilities.context_tokens, capabilities.slots) == (CONTEXT_TOKENS, SLOTS)
    assert (capabilities.mode, capabilities.stays_local) == (Mode.IN_PROCESS, True)


def test_what_was_submitted_while_it_loads_is_served_or_refused_then(loading: Rig) -> None:
    fits, too_long = (loading.endpoint.submit(ask(one)) for one in ("count", "x" * CONTEXT_TOKENS))
    before = fits.admitted
    loading.load()

    assert not before
    assert isinstance(collect(fits)[1], Finished)
    assert failure(too_long).code is ErrorCode.CONTEXT_OVERFLOW


def test_one_without_a_model_refuses_what_waits_and_what_comes_and_says_why(loading: Rig) -> None:
    waiting = loading.endpoint.submit(ask("count"))
    loading.fail("no such file")

    assert failure(waiting).code is ErrorCode.MODEL_LOAD_FAILED
    assert loading.endpoint.state == State(Phase.FAILED, "no such file")
    with pytest.raises(CommandError, match="no such file") as refusal:
        loading.endpoint.submit(ask("count"))
    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED
    with pytest.raises(CommandError, match="no such file") as refusal:
        loading.endpoint.counter(BOUND_S)
    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED


def test_stopping_cancels_whatever_runs_or_waits(rig: Rig) -> None:
    generations = [rig.endpoint.submit(listening("count")) for _ in range(SLOTS + 1)]
    first_piece(generations[0])
    rig.endpoint.stop()

    assert {failure(one).code for one in generations} == {ErrorCode.CANCELLED}
    assert rig.endpoint.state.phase is Phase.STOPPED
    with pytest.raises(CommandError) as refusal:
        rig.endpoint.submit(ask("count"))
    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED


def test_stopping_one_that_loads_cancels_what_waits_for_it(loading: Rig) -> None:
    waiting = loading.endpoint.submit(ask("count"))
    loading.endpoint.stop()

    assert failure(waiting).code is ErrorCode.CANCELLED
    assert loading.endpoint.state.phase is Phase.STOPPED


# Counting.


def test_a_prompt_is_counted_as_it_is_spent(rig: Rig) -> None:
    counter = rig.endpoint.counter(BOUND_S)
    assert counter is not None
    generation = rig.endpoint.submit(ask("count"))
    collect(generation)

    assert counter.count(ask("count")) == generation.tokens_in
    assert counter.context_tokens == CONTEXT_TOKENS


def test_text_is_counted_without_a_template(rig: Rig) -> None:
    counter = rig.endpoint.counter(BOUND_S)
    assert counter is not None

    assert counter.count_text("hello") == 5
    assert counter.count_text("hello") < counter.count(ask("hello"))
