"""What holds for the fields of every command alike."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from abi.golden import golden
from cuttlebone_abi import InferRequest, decode_command, dump_json
from cuttlebone_abi.commands import Answered, Done, Fail

MODELS: dict[str, type[BaseModel]] = {
    name: model
    for model in (*get_args(Answered), Done, Fail)
    for name in get_args(model.model_fields["cmd"].annotation)
}


def optional_lists(model: type[BaseModel]) -> Iterator[str]:
    """The fields that hold a list and may be left out."""
    for name, field in model.model_fields.items():
        if not field.is_required() and "tuple[" in str(field.annotation):
            yield name


def empty_lists(model: type[BaseModel]) -> dict[str, list[Any]]:
    return {name: [] for name in optional_lists(model)}


def with_empty_lists(message: Any) -> Any:
    """The message with an empty list in every optional list that it leaves out."""
    filled = {**empty_lists(MODELS[message["cmd"]]), **message}
    bodies = empty_lists(InferRequest)
    if "requests" in filled:
        filled["requests"] = [{**bodies, **body} for body in filled["requests"]]
    return filled


def test_the_commands_of_the_contract_have_optional_lists() -> None:
    found = {name: set(optional_lists(model)) for name, model in MODELS.items()}

    assert found["infer"] == {"images", "messages", "stop"}
    assert found["count_tokens"] == {"messages"}


@pytest.mark.parametrize("vector", golden("valid", "command"), ids=lambda vector: vector.name)
def test_an_empty_optional_list_is_an_absent_one(vector: Any) -> None:
    empty = dump_json(with_empty_lists(vector.value))

    assert decode_command(empty) == decode_command(dump_json(vector.value))
