"""Roles and the endpoints behind them."""

import pytest

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.errors import CommandError
from cuttlebone.generation.state import Phase
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import ErrorCode


def test_an_endpoint_is_there_once_however_many_roles_it_serves() -> None:
    shared, other = ScriptedEndpoint(name="a/c"), ScriptedEndpoint(name="b")
    directory = EndpointDirectory({"c": shared, "b": other, "a": shared})

    assert list(directory.roles) == ["a", "b", "c"]
    assert directory.endpoints == (shared, other)
    assert directory.endpoint("c") is directory.endpoint("a") is shared


def test_a_role_is_shown_with_the_file_that_the_operator_named_else_with_its_endpoint() -> None:
    endpoint = ScriptedEndpoint(name="a/b")
    directory = EndpointDirectory({"a": endpoint, "b": endpoint}, files={"a": "link.gguf"})

    assert (directory.file("a"), directory.file("b")) == ("link.gguf", "a/b")


def test_a_role_without_an_endpoint_is_refused_in_printable_words() -> None:
    with pytest.raises(CommandError) as refusal:
        EndpointDirectory({}).endpoint("a\x1b[31m")

    assert refusal.value.code is ErrorCode.MODEL_LOAD_FAILED
    assert refusal.value.message.isprintable()


def test_stopping_stops_every_endpoint() -> None:
    endpoints = {name: ScriptedEndpoint(name=name) for name in "ab"}
    directory = EndpointDirectory(endpoints)
    directory.start()
    directory.stop()

    assert {one.state.phase for one in endpoints.values()} == {Phase.STOPPED}
