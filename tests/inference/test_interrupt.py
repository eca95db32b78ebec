"""A batch that ends half-way because nobody wants it any more."""

import ctypes
import threading
import time

import pytest
from structlog.testing import capture_logs

from bounds import scaled
from cuttlebone.generation.outcome import FailedGeneration, Finished
from cuttlebone.generation.ticket import CancelAsked, Generation, VerdictGiven
from cuttlebone.inference.inbox import Inbox, LoadAsked, Message, StopAsked, Submitted, UnloadAsked
from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.llama import LlamaModel
from cuttlebone.inference.model import Run, Slot
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import ErrorCode
from inference.conftest import STORY, ask, collect, serving, wait_until_decoding

CANCEL_S_MAX = scaled(0.2)


def admitted() -> Generation:
    """A generation in the batch."""
    generation = Generation(ask(), lambda _message: None, time.monotonic)
    generation.admit()
    return generation


def ended() -> Generation:
    """One that had its outcome, as each has when its job leaves it."""
    generation = admitted()
    generation.fail(ErrorCode.CANCELLED, "done")
    return generation


def waiting() -> Generation:
    """One without a place: it is cancelled at once, whatever runs."""
    return Generation(ask(), lambda _message: None, time.monotonic)


def test_compiled_code_sees_it_as_a_text_that_is_empty_or_not() -> None:
    interrupt, length = Interrupt(), ctypes.CDLL(None).strlen
    seen = [length(ctypes.c_void_p(interrupt.address))]
    interrupt.ask()
    seen.append(length(ctypes.c_void_p(interrupt.address)))
    assert (seen, interrupt.asked) == ([0, 1], True)
    interrupt.clear()
    assert not interrupt.asked


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (CancelAsked(admitted()), True),
        (StopAsked(), True),
        (CancelAsked(ended()), False),
        (CancelAsked(waiting()), False),
        (VerdictGiven(admitted(), stop=True), False),
        (Submitted(admitted(), None), False),
        (LoadAsked(), False),
        (UnloadAsked(), False),
    ],
)
def test_only_what_ends_a_generation_in_the_batch_interrupts_it_until_it_is_read(
    message: Message, *, expected: bool
) -> None:
    inbox = Inbox()
    inbox.put(message)
    assert inbox.interrupt.asked is expected
    assert inbox.take(timeout_s=0) == [message]
    assert not inbox.interrupt.asked


def test_a_cancel_does_not_wait_for_the_batch_and_the_others_go_on() -> None:
    model = ScriptedModel(STORY)
    with serving(model) as thread:
        model.hold()
        unwanted = thread.submit(ask("unwanted"))
        wait_until_decoding(model)
        wanted = thread.submit(ask("story"))
        unwanted.cancel()
        _, outcome = collect(unwanted)
        assert isinstance(outcome, FailedGeneration)
        assert (outcome.code, outcome.tokens_in) == (ErrorCode.CANCELLED, 0)
        model.release()
        _, outcome = collect(wanted)
        assert isinstance(outcome, Finished)
        assert outcome.text == STORY["story"]


def test_a_stop_does_not_wait_for_the_batch() -> None:
    model = ScriptedModel(STORY)
    with serving(model) as thread:
        model.hold()
        generation = thread.submit(ask("story"))
        wait_until_decoding(model)
        thread.stop()
        assert isinstance(collect(generation)[1], FailedGeneration)


def test_the_batch_after_an_interrupted_one_goes_on_to_its_end() -> None:
    model = ScriptedModel(STORY)
    with serving(model) as thread:
        model.hold()
        first, second, wanted = (thread.submit(ask(text)) for text in ("a", "b", "story"))
        wait_until_decoding(model)
        first.cancel()
        collect(first)
        wait_until_decoding(model)
        second.cancel()
        assert second.next(0.05) is None
        model.release()
        assert isinstance(collect(second)[1], FailedGeneration)
        _, outcome = collect(wanted)
        assert isinstance(outcome, Finished)
        assert outcome.text == STORY["story"]


@pytest.mark.model
def test_a_long_prompt_is_interrupted_soon_and_its_memory_is_as_it_was(llama: LlamaModel) -> None:
    for slot in (Slot(0), Slot(1)):
        llama.truncate(slot, 0)
    tokens = llama.tokenise("The quick brown fox jumps over the lazy dog. " * 60, scaffold=False)
    beginning, rest = tokens[:40], tokens[40:480]
    llama.decode([Run(Slot(0), 0, beginning, wants_logits=False)])
    llama.copy(Slot(0), Slot(1), 40)
    generated = Run(Slot(1), 40, rest[:1], wants_logits=True)
    interrupt, asked_s = Interrupt(), list[float]()

    def ask_for_it() -> None:
        asked_s.append(time.perf_counter())
        interrupt.ask()

    threading.Timer(scaled(0.2), ask_for_it).start()
    with capture_logs() as logged:
        done = llama.decode([Run(Slot(0), 40, rest, wants_logits=True), generated], interrupt)
    assert not logged
    assert time.perf_counter() - asked_s[0] < CANCEL_S_MAX
    assert done == [1]
    single = llama.logits(1).copy()
    whole = [llama.logits(*llama.decode([Run(Slot(0), 40, rest, wants_logits=True)])).copy()]
    llama.truncate(Slot(0), 0)
    llama.decode([Run(Slot(0), 0, beginning, wants_logits=False)])
    whole.append(llama.logits(*llama.decode([Run(Slot(0), 40, rest, wants_logits=True)])).copy())
    assert whole[0].tobytes() == whole[1].tobytes()
    llama.truncate(Slot(1), 40)
    llama.decode([generated])
    assert llama.logits(0).tobytes() == single.tobytes()
