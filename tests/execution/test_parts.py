"""An `infer_many` whose job dies in the middle: the next attempt pays for the rest alone."""

import pytest

from commands.by_hand import TOKENS_IN, TOKENS_OUT, by_hand, finished, prompts
from cuttlebone.execution.recorder import Recorder
from cuttlebone.execution.runner import run_job
from cuttlebone.job.journal import JournalEntry, JournalPart
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import Commands, ScriptedEndpoint, ScriptedGuest
from cuttlebone_abi import Completed, Envelope, Json, Signature
from job_scopes import ScopeOf, granted


class Died(BaseException):
    """The host is no more. No `Exception`: a job survives these."""


def ask(_guest: ScriptedGuest, _value: Json) -> Commands:
    """Ask for three generations side by side, and for one more."""
    requests = [{"prompt": prompt, "max_tokens": 20} for prompt in "abc"]
    many = yield {"cmd": "infer_many", "requests": requests}
    one = yield {"cmd": "infer", "prompt": "d", "max_tokens": 20}
    yield {"cmd": "done", "result": [*(each["text"] for each in many["results"]), one["text"]]}


def attempt(scope_of: ScopeOf, model: ScriptedEndpoint, recorder: Recorder) -> Envelope:
    scope = scope_of(model=granted("small", model))
    return run_job(ScriptedGuest(ask), scope, IoSchemas(Signature()), b"null", recorder)


@pytest.fixture
def left(scope_of: ScopeOf) -> list[JournalPart]:
    """The parts that an attempt left, which died once that of the second request was kept."""
    parts: list[JournalPart] = []

    def keep_and_die(part: JournalPart) -> None:
        parts.append(part)
        raise Died

    model = by_hand({"b": finished("B")})
    with pytest.raises(Died):
        attempt(scope_of, model, Recorder((), lambda _entry: None, keep_part=keep_and_die))
    return parts


def test_the_next_attempt_generates_the_rest_and_counts_each_once(
    scope_of: ScopeOf, left: list[JournalPart]
) -> None:
    entries: list[JournalEntry] = []
    model = by_hand({name: finished(name.upper()) for name in "acd"})
    envelope = attempt(scope_of, model, Recorder((), entries.append, parts=left))

    assert prompts(model.requests) == ["a", "c", "d"]
    assert isinstance(envelope, Completed)
    assert envelope.result == ["A", "B", "C", "D"]
    assert (envelope.usage.tokens_in, envelope.usage.tokens_out) == (4 * TOKENS_IN, 4 * TOKENS_OUT)
    assert (entries[0].tokens_in, entries[0].tokens_out) == (3 * TOKENS_IN, 3 * TOKENS_OUT)


def test_an_attempt_after_the_whole_was_kept_generates_none_of_it(
    scope_of: ScopeOf, left: list[JournalPart]
) -> None:
    entries: list[JournalEntry] = []
    model = by_hand({name: finished(name.upper()) for name in "acd"})
    attempt(scope_of, model, Recorder((), entries.append, parts=left))
    model = by_hand({"d": finished("D")})
    envelope = attempt(scope_of, model, Recorder(entries[:1], entries.append))

    assert prompts(model.requests) == ["d"]
    assert isinstance(envelope, Completed)
    assert envelope.usage.tokens_out == 4 * TOKENS_OUT
