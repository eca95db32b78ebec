"""What is demanded of texts is read in a process of its own: by its time, and only as long as it is wanted."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from bounds import BOUND_S
from cuttlebone.errors import CommandError, JobError
from cuttlebone.generation.request import CompileTerms, Constraint, Grammar, JsonSchema
from cuttlebone.inference.constraint_reader import ConstraintReader, until_unwanted
from cuttlebone_abi import ErrorCode, Json
from inference.random_schemas import random_schema
from inference.test_schema_keeping import chain
from stopping import StoppedAfter

ENDLESS = JsonSchema({"allOf": [{"type": "integer", "multipleOf": n} for n in (97, 89, 83, 79)]})
"""Its states are counted by their product: 56 million of them."""


@pytest.fixture(scope="module")
def reader() -> Iterator[ConstraintReader]:
    reader = ConstraintReader()
    yield reader
    reader.close()


def refused(reader: ConstraintReader, constraint: Constraint, terms: CompileTerms) -> CommandError:
    with pytest.raises(CommandError) as refusal:
        reader.read(constraint, terms)
    assert refusal.value.code is ErrorCode.INVALID_GRAMMAR
    return refusal.value


@pytest.mark.parametrize("compile_ms", [300, 1000])
def test_what_takes_too_long_to_read_is_refused_with_the_limit(
    reader: ConstraintReader, compile_ms: int
) -> None:
    said = refused(reader, ENDLESS, CompileTerms(compile_ms)).message
    assert said.startswith(f"`json_schema`: compile_ms: it takes more than {compile_ms} ms")


def test_reading_ends_as_soon_as_nobody_wants_it(reader: ConstraintReader) -> None:
    stopped = StoppedAfter(5)
    with pytest.raises(JobError, match="stopped"):
        reader.read(ENDLESS, CompileTerms(10_000, stopped))


@pytest.mark.parametrize(
    "constraint",
    [
        JsonSchema({"type": "strange"}),
        JsonSchema({"type": "string", "pattern": "("}),
        JsonSchema({"$ref": "#"}),
        Grammar("start: a"),
        Grammar("start: " + "(" * 900 + '"a"' + ")" * 900),
        Grammar('root ::= "a" [b'),
        Grammar("root ::= " + "(" * 900 + '"a"' + ")" * 900),
    ],
)
def test_what_cannot_be_read_is_refused(reader: ConstraintReader, constraint: Constraint) -> None:
    refused(reader, constraint, CompileTerms())


def test_a_grammar_is_read_whatever_kind_it_is_of(reader: ConstraintReader) -> None:
    for text in ('start: "yes" | "no"', 'root ::= "yes" | "no"'):
        read = reader.read(Grammar(text), CompileTerms())
        assert read.fault is None
        assert reader.read(Grammar(text), CompileTerms()) is read


@pytest.mark.parametrize("schema", [{"enum": ["a", "b"]}, {"$ref": "#/$defs/a0", **chain(12)}])
def test_a_finished_text_is_checked_here_or_elsewhere(
    reader: ConstraintReader, schema: Json
) -> None:
    fault = reader.read(JsonSchema(schema), CompileTerms()).fault
    assert fault is not None
    assert fault('"b"') is None
    for text in ("1", '"b', "{}"):
        assert fault(text), text


def test_a_check_that_takes_for_ever_is_ended(reader: ConstraintReader) -> None:
    fault = reader.read(JsonSchema(chain(60)), CompileTerms()).fault
    assert fault is not None
    assert "compile_ms" in (fault('"a"') or "")


def test_work_that_nothing_interrupts_is_left_once_nobody_wants_it() -> None:
    ended = threading.Event()

    def work() -> bool:
        return ended.wait(BOUND_S)

    with pytest.raises(JobError, match="stopped"):
        until_unwanted(work, CompileTerms(check_wanted=StoppedAfter(1)))
    ended.set()
    assert until_unwanted(work, CompileTerms()) is True


def test_nothing_that_reading_needs_is_forbidden(
    reader: ConstraintReader, trials: Callable[[int], int]
) -> None:
    read = 0
    with capture_logs() as logs:  # a process that did what it may not is logged
        for seed in range(trials(40)):
            schema = random_schema(random.Random(seed))
            with suppress(CommandError):
                fault = reader.read(JsonSchema(schema), CompileTerms()).fault
                assert fault is not None
                fault('{"a": 1}')
                read += 1
    assert not logs
    assert read > 0


def test_a_reader_that_was_closed_reads_nothing() -> None:
    closed = ConstraintReader()
    closed.close()
    with pytest.raises(CommandError, match="cannot be read now") as refusal:
        closed.read(JsonSchema({}), CompileTerms())
    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED
