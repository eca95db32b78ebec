"""Bytes to types and back: exact, bounded, and never any error but MalformedMessage."""

import json
import math
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone_abi import (
    COMMAND_BYTES_MAX,
    INTEGER_DIGITS_MAX,
    JSON_DEPTH_MAX,
    JSON_NODES_MAX,
    Command,
    Emit,
    ErrorEvent,
    Infer,
    Json,
    List,
    MalformedMessage,
    Open,
    Opened,
    OversizedMessage,
    Slice,
    SliceBytes,
    Sliced,
    TextKind,
    decode_command,
    decode_envelope,
    decode_event,
    dump_json,
    json_path,
    load_json,
)
from doubling import assert_linear

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(Emit, cmd=st.just("emit"), progress=values),
    st.builds(Open, cmd=st.just("open"), path=texts, on_error=st.sampled_from(["event", None])),
    st.builds(List, cmd=st.just("list"), path=texts, after=st.none() | texts),
    st.builds(SliceBytes, cmd=st.just("slice_bytes"), handle=u32, offset=u64, len=u64),
    st.builds(Slice, cmd=st.just("slice"), handle=u32, offset=u64, len=u64),
    st.builds(
        Infer,
        cmd=st.just("infer"),
        prompt=texts,
        messages=st.none(),
        max_tokens=u32,
        temperature=st.none() | st.floats(0, 10),
        top_p=st.none() | st.floats(0, 1),
        stop=st.lists(st.text("ab\n", min_size=1, max_size=9), max_size=16).map(tuple),
    ),
)


@given(values)
def test_any_json_value_survives_writing_and_reading(value: Json) -> None:
    assert load_json(dump_json(value)) == value


@given(commands)
def test_any_command_survives_writing_and_reading(command: Command) -> None:
    assert decode_command(dump_json(command)) == command


@given(handle=u32, length=u64)
def test_integers_of_an_event_are_exact(handle: int, length: int) -> None:
    event = Opened(handle=handle, len=length, kind=TextKind())

    assert decode_event(dump_json(event)) == event


@given(texts, u64)
def test_any_text_of_an_event_survives_writing_and_reading(text: str, offset: int) -> None:
    event = Sliced(text=text, next_offset=offset)

    assert decode_event(dump_json(event)) == event


@given(st.integers())
def test_integers_in_free_values_are_exact_whatever_their_size(number: int) -> None:
    command = decode_command(b'{"cmd":"emit","progress":%d}' % number)

    assert isinstance(command, Emit)
    assert isinstance(command.progress, int)
    assert command.progress == number


pieces = st.lists(
    st.sampled_from(
        [
            b'{"cmd":"',
            b'{"event":"',
            b"infer",
            b"slice",
            b'","',
            b'":',
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b"1e999",
        ]
    )
    | st.binary(max_size=6)
).map(b"".join)


@pytest.mark.parametrize("decode", [decode_command, decode_event, decode_envelope])
@given(data=st.binary() | pieces)
def test_any_bytes_are_read_or_malformed(decode: Callable[[bytes], object], data: bytes) -> None:
    with suppress(MalformedMessage):
        decode(data)


json_objects = st.dictionaries(
    st.sampled_from(["prompt", "messages", "max_tokens", "stop", "handle", "raw", "on_error"]),
    values,
)


@given(json_objects, st.sampled_from(["infer", "open", "slice", "close", "emit", "done", "list"]))
def test_any_fields_are_read_or_malformed(fields: dict[str, Json], name: str) -> None:
    with suppress(MalformedMessage):
        decode_command(dump_json({**fields, "cmd": name}))


def nested(depth: int) -> bytes:
    """A command that nests `depth` levels, its own object included."""
    return b'{"cmd":"emit","progress":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


def test_a_command_may_nest_as_deep_as_the_limit_says() -> None:
    assert isinstance(decode_command(nested(JSON_DEPTH_MAX)), Emit)
    assert isinstance(decode_command(nested(5), depth_max=5), Emit)


@pytest.mark.parametrize("depth", [JSON_DEPTH_MAX + 1, 1_000, JSON_NODES_MAX - 1])
def test_a_command_that_nests_deeper_is_refused_with_the_limit(depth: int) -> None:
    with pytest.raises(OversizedMessage, match="deeper than 128 levels") as refusal:
        decode_command(nested(depth))

    assert (refusal.value.limit, refusal.value.value) == ("json_depth", JSON_DEPTH_MAX)


def wide(nodes: int) -> bytes:
    """A command of `nodes` arrays and objects, its own included, and some in strings, which are none."""
    return b'{"cmd":"emit","progress":[' + b"[]," * (nodes - 2) + b'"[{\\"[{"]}'


def test_a_command_may_have_as_many_arrays_and_objects_as_the_limit_says() -> None:
    assert isinstance(decode_command(wide(JSON_NODES_MAX)), Emit)
    assert isinstance(decode_command(wide(5), nodes_max=5), Emit)


def test_a_command_of_more_arrays_and_objects_is_refused_with_the_limit() -> None:
    with pytest.raises(OversizedMessage, match="more than 100000 arrays and objects") as refusal:
        decode_command(wide(JSON_NODES_MAX + 1))

    assert (refusal.value.limit, refusal.value.value) == ("json_nodes", JSON_NODES_MAX)


@pytest.mark.parametrize("unit", [b'\\"', b'"', b"[", b'["a', b"\\", b'"\\'])
def test_counting_takes_time_by_the_length_of_a_command(unit: bytes) -> None:
    def refused(data: bytes) -> None:
        with pytest.raises(MalformedMessage):
            decode_command(data, nodes_max=1)

    assert_linear(
        refused, lambda size: (b'[{"' + unit * size)[:size], size_max=COMMAND_BYTES_MAX // 2
    )


@pytest.mark.parametrize("sign", [b"", b"-"])
def test_an_integer_may_have_as_many_digits_as_the_limit_says(sign: bytes) -> None:
    digits = b"7" * INTEGER_DIGITS_MAX

    assert dump_json(load_json(sign + digits)) == sign + digits
    with pytest.raises(OversizedMessage, match="more than 4300 digits at line 1") as refusal:
        load_json(b"[" + sign + digits + b"7]")
    assert (refusal.value.limit, refusal.value.value) == ("json_digits", INTEGER_DIGITS_MAX)


def test_zero_keeps_its_sign_and_texts_keep_their_own() -> None:
    data = rb'{"-0":[-0,0,"-0","\\","-0\"-0"],"x":-0}'

    assert dump_json(load_json(data)) == rb'{"-0":[-0.0,0,"-0","\\","-0\"-0"],"x":-0.0}'
    assert dump_json(load_json(b"[-0.0,-0e1,3e-0,-0]")) == b"[-0.0,-0.0,3.0,-0.0]"


def test_many_brackets_side_by_side_are_not_deep() -> None:
    data = b'{"cmd":"emit","progress":[' + b"[]," * 1_000 + b"{}]}"

    assert isinstance(decode_command(data), Emit)


def test_brackets_inside_of_text_are_not_deep() -> None:
    data = dump_json({"cmd": "emit", "progress": "[" * 1_000})

    assert isinstance(decode_command(data), Emit)


def test_a_command_may_have_as_many_bytes_as_the_limit_says() -> None:
    empty = len(b'{"cmd":"emit","progress":""}')
    data = dump_json({"cmd": "emit", "progress": "a" * (COMMAND_BYTES_MAX - empty)})

    assert len(data) == COMMAND_BYTES_MAX
    assert isinstance(decode_command(data), Emit)


def test_a_larger_command_is_refused_with_both_numbers() -> None:
    with pytest.raises(OversizedMessage, match="12 bytes, but at most 11 are allowed") as refusal:
        decode_command(b"[1,2,3,4,56]", bytes_max=11)

    assert (refusal.value.limit, refusal.value.value) == ("command_bytes", 11)


@given(st.integers(0, 250), st.integers(0, 420))
def test_a_number_is_read_if_and_only_if_it_is_finite(zeros: int, exponent: int) -> None:
    text = f"1{'0' * zeros}e{exponent}".encode()

    if zeros + exponent > 308:
        with pytest.raises(MalformedMessage, match="too large"):
            load_json(text)
    else:
        assert load_json(text) == float(text)


def test_the_message_of_a_refusal_stays_short_whatever_a_guest_sends() -> None:
    long = "x" * 100_000
    for data in ({"cmd": long}, {"cmd": "emit", "progress": {long: [{long: "?"}]}}):
        with pytest.raises(MalformedMessage) as refusal:
            decode_command(json.dumps(data).replace('"?"', "1e999").encode())

        assert len(str(refusal.value)) < 500


def test_the_message_of_a_refusal_has_no_control_characters() -> None:
    with pytest.raises(MalformedMessage) as refusal:
        decode_command(b'{"cmd":"\\u001b[31m\\n"}')

    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ((), "$"),
        (("messages", 0, "role"), "$.messages[0].role"),
        (("time-ms",), "$.time-ms"),
        (("a b", 'say "x"', ""), '$["a b"]["say \\"x\\""][""]'),
        (("é\n",), '$["\\u00e9\\n"]'),
    ],
)
def test_a_json_path_is_plain_where_it_can_be(location: tuple[int | str, ...], path: str) -> None:
    assert json_path(location) == path


def test_a_model_is_written_without_white_space_as_utf8() -> None:
    event = ErrorEvent(code="not_text", message="é")

    assert dump_json(event) == '{"event":"error","code":"not_text","message":"é"}'.encode()


numbers = st.sampled_from(
    [
        "0",
        "-0.0",
        "12",
        "1e308",
        "-1e308",
        "1e400",
        "-1E+999",
        "1e-400",
        "9" * 400,
        "9" * 400 + ".5",
    ]
) | st.integers().map(str)


def list_text(items: list[str]) -> str:
    return f"[{','.join(items)}]"


def object_text(items: list[str]) -> str:
    return "{" + ",".join(f'"{at}":{item}' for at, item in enumerate(items)) + "}"


number_texts = st.recursive(
    numbers | st.sampled_from(['"1e400"', '"e"', "null", "true"]),
    lambda inner: (
        st.lists(inner, max_size=12).map(list_text) | st.lists(inner, max_size=4).map(object_text)
    ),
    max_leaves=40,
)


def has_infinity(value: Json) -> bool:
    match value:
        case float():
            return math.isinf(value)
        case list():
            return any(map(has_infinity, value))
        case dict():
            return any(map(has_infinity, value.values()))
        case _:
            return False


@given(number_texts)
def test_exactly_those_texts_are_refused_that_have_a_number_too_large(text: str) -> None:
    value = json.loads(text)
    if has_infinity(value):
        with pytest.raises(MalformedMessage, match="number too large for a 64-bit float"):
            load_json(text.encode())
    else:
        assert load_json(text.encode()) == value


@pytest.mark.parametrize("wide", [0, 20])
def test_the_depth_of_a_text_is_counted_exactly_however_wide_it_is(wide: int) -> None:
    def nested(levels: int) -> bytes:
        text = "1" + ",1" * wide
        for level in range(levels):
            text = f'{{"a":{text}}}' if level % 2 else f"[{text}]"
        return text.encode()

    assert load_json(nested(JSON_DEPTH_MAX))
    with pytest.raises(OversizedMessage):
        load_json(nested(JSON_DEPTH_MAX + 1))


def test_the_place_of_a_number_too_large_is_found_in_a_long_list() -> None:
    text = b'{"a":[' + b"1," * 50 + b"1e999]}"

    with pytest.raises(MalformedMessage, match=r"^\$\.a\[50\]: number too large"):
        load_json(text)
