"""The host's codec and every golden message agree, in both directions."""

import json
import re
from collections.abc import Callable
from typing import Final

import pytest
from pydantic import BaseModel

from abi.golden import VECTORS, Golden, each, golden
from cuttlebone_abi import (
    InvalidSignature,
    Json,
    MalformedMessage,
    Signature,
    decode_command,
    decode_envelope,
    decode_event,
    dump_json,
    load_json,
    parse_signature,
)

DECODERS: Final[dict[str, Callable[[bytes], BaseModel]]] = {
    "command": decode_command,
    "event": decode_event,
    "envelope": decode_envelope,
}


@each("valid", "command")
def test_a_valid_command_is_read_as_its_value_says(vector: Golden) -> None:
    assert decode_command(vector.raw) == decode_command(dump_json(vector.value))


@each("valid", "command")
def test_the_value_of_a_command_has_no_field_that_a_reader_does_not_know(vector: Golden) -> None:
    assert vector.value.keys() <= type(decode_command(vector.raw)).model_fields.keys()


@each("valid", "command")
def test_a_command_that_was_read_is_the_same_when_written_and_read_again(vector: Golden) -> None:
    command = decode_command(vector.raw)

    assert decode_command(dump_json(command)) == command


@each("valid", "event", "envelope")
def test_what_a_host_writes_is_read_and_written_as_its_value_says(vector: Golden) -> None:
    message = DECODERS[vector.kind](vector.raw)

    assert _exact(load_json(dump_json(message))) == _exact(vector.value)


@each("invalid", "command", "event", "envelope")
def test_an_invalid_message_is_refused_with_path_and_reason(vector: Golden) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        DECODERS[vector.kind](vector.raw)

    assert refusal.value.path == vector.path
    assert vector.reason in refusal.value.reason


@each("valid", "signature")
def test_a_valid_signature_is_read_and_means_the_same_when_written(vector: Golden) -> None:
    signature = parse_signature(vector.raw)

    assert signature != Signature()
    written = {"input": str(signature.input), "output": str(signature.output)}
    assert parse_signature(dump_json(written)) == signature


@each("invalid", "signature")
def test_an_invalid_signature_is_refused_with_its_reason(vector: Golden) -> None:
    with pytest.raises(InvalidSignature, match=re.escape(vector.reason)):
        parse_signature(vector.raw)


@pytest.mark.parametrize("folder", ["valid", "invalid"])
def test_every_file_is_a_vector_of_a_known_kind(folder: str) -> None:
    files = list((VECTORS / folder).iterdir())
    known = golden(folder, "command", "event", "envelope", "signature")

    assert sorted(path.stem for path in files) == sorted(vector.name for vector in known)
    assert all(vector.name.startswith(f"{vector.kind}-") for vector in known)


@pytest.mark.parametrize("folder", ["valid", "invalid"])
def test_every_vector_says_what_it_is_about(folder: str) -> None:
    contents = [json.loads(path.read_text()) for path in (VECTORS / folder).iterdir()]

    assert all(content["about"].strip() for content in contents)


def _exact(value: Json) -> str:
    """JSON with sorted keys: unlike `==`, it tells 1 from 1.0 and from true."""
    return json.dumps(value, sort_keys=True)
