"""Generations on behalf of who pays: admitted by the account, charged once, whatever happens."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.endpoints.inference import EndpointInference
from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import Piece
from cuttlebone.generation.request import (
    GenerationRequest,
    Grammar,
    JsonSchema,
    RequestField,
    Sampling,
)
from cuttlebone.generation.spent import Spent
from cuttlebone.generation.state import Phase, State
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import ErrorCode
from inference.conftest import ask, collect


@dataclass(slots=True)
class Purse:
    """An account for so many generations, which remembers what it was charged."""

    left: int = 100
    spent: list[Spent] = field(default_factory=list)

    def admit(self) -> None:
        if not self.left:
            raise CommandError(ErrorCode.LIMIT_EXCEEDED, "the purse is empty")
        self.left -= 1

    def charge(self, spent: Spent) -> None:
        self.spent.append(spent)


def serving(**endpoints: Endpoint) -> EndpointInference:
    return EndpointInference(EndpointDirectory(endpoints))


@contextmanager
def refused(code: ErrorCode) -> Iterator[None]:
    with pytest.raises(CommandError) as refusal:
        yield
    assert refusal.value.code is code


def test_a_generation_is_charged_once_with_who_asked_and_who_served() -> None:
    purse, endpoint = Purse(), ScriptedEndpoint({"hello": "one two"}, name="small.gguf")
    with serving(writer=endpoint).open("writer", ask(tenant="someone"), purse) as generation:
        collect(generation)
        before = list(purse.spent)

    (spent,) = purse.spent
    assert before == []
    assert (spent.tenant, spent.role, spent.endpoint) == ("someone", "writer", "small.gguf")
    assert (spent.tokens_in, spent.tokens_out) == (len("hello") + 1, 3)


def test_one_that_is_left_before_its_end_is_cancelled_and_charged_for_what_it_took() -> None:
    purse, endpoint = Purse(), ScriptedEndpoint({"hello": "one two"})
    request = dataclasses.replace(ask(), asks_verdict=True)
    with serving(main=endpoint).open("main", request, purse) as generation:
        assert generation.next(0) == Piece("one")

    assert endpoint.cancelled == [request]
    assert [spent.tokens_out for spent in purse.spent] == [1]


def test_an_account_that_admits_no_more_keeps_the_endpoint_from_being_asked() -> None:
    purse, endpoint = Purse(left=1), ScriptedEndpoint()
    inference = serving(main=endpoint)
    with inference.open("main", ask("first"), purse):
        pass
    with refused(ErrorCode.LIMIT_EXCEEDED), inference.open("main", ask("second"), purse):
        pass

    assert endpoint.requests == [ask("first")]
    assert len(purse.spent) == 1


def test_what_the_endpoint_refuses_is_not_charged() -> None:
    purse, endpoint = Purse(), ScriptedEndpoint(context_tokens=8)
    with (
        refused(ErrorCode.CONTEXT_OVERFLOW),
        serving(main=endpoint).open("main", ask("much too long"), purse),
    ):
        pass

    assert purse.spent == []


def test_a_role_that_nothing_serves_is_refused_with_what_to_do() -> None:
    inference = serving(main=ScriptedEndpoint())
    with (
        pytest.raises(CommandError, match=r"'other'.*--model other=FILE") as refusal,
        inference.open("other", ask(), Purse()),
    ):
        pass

    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED
    assert not inference.ready("other")
    with refused(ErrorCode.MODEL_LOAD_FAILED):
        inference.counter("other", 0)


RAW = GenerationRequest("job", "tenant", turns=None, raw_prompt="hello", max_tokens=4)
FIELDS = {
    RequestField.RAW: RAW,
    RequestField.REPEAT_LAST: dataclasses.replace(ask(), sampling=Sampling(repeat_last=5)),
    RequestField.SYSTEM: dataclasses.replace(ask(), default_system=False),
    RequestField.STOP: dataclasses.replace(ask(), stop=("x",)),
    RequestField.TOP_P: dataclasses.replace(ask(), sampling=Sampling(top_p=0.5)),
    RequestField.TOP_K: dataclasses.replace(ask(), sampling=Sampling(top_k=5)),
    RequestField.MIN_P: dataclasses.replace(ask(), sampling=Sampling(min_p=0.5)),
    RequestField.REPEAT_PENALTY: dataclasses.replace(ask(), sampling=Sampling(repeat_penalty=1.1)),
    RequestField.JSON_SCHEMA: dataclasses.replace(ask(), constraint=JsonSchema({})),
    RequestField.GRAMMAR: dataclasses.replace(ask(), constraint=Grammar('start: "a"')),
}


@pytest.mark.parametrize("name", RequestField)
def test_a_field_that_the_endpoint_does_not_carry_is_refused_by_its_name(
    name: RequestField,
) -> None:
    endpoint = ScriptedEndpoint(fields=frozenset(RequestField) - {name})
    with (
        pytest.raises(CommandError, match=f"`{name}`") as refusal,
        serving(main=endpoint).open("main", FIELDS[name], Purse()),
    ):
        pass

    assert refusal.value.code is ErrorCode.UNSUPPORTED
    assert endpoint.requests == []


@pytest.mark.parametrize("name", RequestField)
def test_one_that_carries_a_field_alone_is_asked(name: RequestField) -> None:
    endpoint = ScriptedEndpoint(fields=frozenset({name}))
    with serving(main=endpoint).open("main", FIELDS[name], Purse()):
        pass

    assert endpoint.requests == [FIELDS[name]]


@pytest.mark.parametrize("phase", Phase)
def test_a_role_is_ready_exactly_when_its_endpoint_is(phase: Phase) -> None:
    inference = serving(main=ScriptedEndpoint(state=State(phase)))

    assert inference.ready("main") is (phase is Phase.READY)


def test_tokens_are_counted_as_the_endpoint_of_the_role_does() -> None:
    inference = serving(
        small=ScriptedEndpoint(context_tokens=10), large=ScriptedEndpoint(context_tokens=20)
    )
    counter = inference.counter("large", 0)

    assert counter is not None
    assert counter.context_tokens == 20
