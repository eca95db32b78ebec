"""The page of the contract names all that the package has, and its examples are messages of it."""

import re
from collections.abc import Iterable
from typing import Final, get_args

import pytest
from pydantic import BaseModel, TypeAdapter

from abi.golden import VECTORS
from cuttlebone_abi import (
    JSON_DEPTH_MAX,
    JSON_NODES_MAX,
    Command,
    Entry,
    Envelope,
    ErrorCode,
    Event,
    FileKind,
    Finish,
    Infer,
    InferDone,
    JobStatus,
    Json,
    List,
    Listed,
    NotOffered,
    Open,
    Opened,
    Slice,
    SliceBytes,
    Sliced,
    SlicedBytes,
    Usage,
    decode_envelope,
)
from cuttlebone_abi.commands import STOP_STRING_BYTES_MAX, STOP_STRINGS_MAX
from cuttlebone_abi.signatures import SIGNATURE_DEPTH_MAX

PAGE: Final = (VECTORS.parents[1] / "docs" / "abi.md").read_text()


COMMANDS: Final = TypeAdapter[Command](Command).json_schema()
EVENTS: Final = TypeAdapter[Event](Event).json_schema()


FIELDS_NAMED: Final = (
    *(Infer, InferDone, Open, Opened, Slice, Sliced, SliceBytes, SlicedBytes),
    *(List, Listed, Entry, Usage),
)


def tags(schema: dict[str, Json], tag: str) -> set[str]:
    """The values of `tag` in the models of a union, given by its JSON Schema."""
    defined = schema["$defs"].values()
    fields = [model["properties"][tag] for model in defined if tag in model.get("properties", {})]
    return {name for field in fields for name in field.get("enum", [field.get("const")])}


def missing(names: Iterable[str]) -> list[str]:
    return [name for name in names if f"`{name}`" not in PAGE]


@pytest.mark.parametrize(("schema", "tag"), [(COMMANDS, "cmd"), (EVENTS, "event")])
def test_every_command_and_event_is_named(schema: dict[str, Json], tag: str) -> None:
    assert len(tags(schema, tag)) > 5
    assert missing(tags(schema, tag)) == []


def test_the_commands_that_are_not_offered_are_said_to_be_so() -> None:
    _, _, rest = PAGE.partition("### Not offered yet")
    section, _, _ = rest.partition("## infer")
    (names,) = [get_args(NotOffered.model_fields["cmd"].annotation)]

    assert sorted(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == sorted(names)


def test_every_error_code_state_and_end_of_a_generation_is_named() -> None:
    assert missing([*ErrorCode, *JobStatus, *Finish]) == []


@pytest.mark.parametrize("model", FIELDS_NAMED)
def test_every_field_is_named(model: type[BaseModel]) -> None:
    assert missing(name for name in model.model_fields if name not in {"cmd", "event"}) == []


def test_every_kind_of_file_is_named() -> None:
    kinds = tags(TypeAdapter[FileKind](FileKind).json_schema(), "kind")

    assert [kind for kind in kinds if f'"kind": "{kind}"' not in PAGE] == []


def test_the_envelopes_of_the_page_are_envelopes() -> None:
    examples = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)

    forms = tags(TypeAdapter[Envelope](Envelope).json_schema(), "status")
    assert {decode_envelope(text.encode()).status for text in examples} == forms


def test_the_numbers_of_the_page_are_those_of_the_package() -> None:
    assert f"`json_depth` levels ({JSON_DEPTH_MAX})" in PAGE
    assert f"at most `json_nodes` together ({JSON_NODES_MAX:,})".replace(",", " ") in PAGE
    assert f"at most {STOP_STRINGS_MAX} texts of 1 to {STOP_STRING_BYTES_MAX} bytes" in PAGE
    assert f"Types nest at most {SIGNATURE_DEPTH_MAX} levels" in PAGE
