"""The SDKs understand and write every golden message, in every language alike, and keep their memory small.

C has more tests beside this file: its readers are its own too, and no library's.
"""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from abi.golden import Golden, each
from bounds import scaled
from cuttlebone.authoring.folder import Language
from cuttlebone.errors import JobError
from cuttlebone.sandbox import Guest, GuestLimits, Sandbox
from cuttlebone_abi import ErrorCode, Json, Sliced, decode_command, dump_json
from guest_examples.mirrors import progress
from guest_examples.modules import OpenGuest

pytestmark = pytest.mark.timeout(scaled(900))  # the first build of a Rust crate also builds serde
MEBIBYTE = 1 << 20
EXPORTS = {
    "memory", "cf_alloc", "cf_init", "cf_step", "cf_on_token", "cf_abi_version", "cf_panic",
}  # fmt: skip


@each("valid", "command")
def test_a_command_built_from_its_fields_is_the_golden_one(mirror: Guest, vector: Golden) -> None:
    built = mirror.init(dump_json({"command": vector.value}))

    assert decode_command(built) == decode_command(vector.raw)


@each("valid", "event")
def test_an_event_is_read_field_by_field_as_its_value_says(mirror: Guest, vector: Golden) -> None:
    mirror.init(b"{}")

    told = progress(mirror.step(vector.raw))

    assert json.dumps(told, sort_keys=True) == json.dumps(vector.value, sort_keys=True)


@each("invalid", "event")
def test_an_invalid_event_does_not_trap(mirror: Guest, vector: Golden) -> None:
    mirror.init(b"{}")

    assert isinstance(progress(mirror.step(vector.raw)), dict)


def test_an_event_of_the_original_contract_is_read_without_the_later_fields(mirror: Guest) -> None:
    mirror.init(b"{}")

    told = progress(mirror.step(b'{"event":"infer_done","text":"a","tokens_out":2}'))

    assert (told["text"], told["tokens_out"], told["finish"], told["seed"]) == ("a", 2, "", 0)


EVENTS: list[Json] = [
    {"event": "page_texted", "text": "é"},
    {"event": "page_text_attempted", "text": None, "error": "no text layer"},
    {"event": "page_text_attempted", "text": "a", "error": None},
    {"event": "page_imaged", "handle": 4_294_967_295, "len": 18_446_744_073_709_551_615},
    {"event": "embedded", "vectors": [[0.5, -2.0, 3.0], []]},
    {"event": "tokens_counted", "tokens": 12, "context": 4_096},
    {"event": "sliced_bytes", "bytes_base64": "AAH/", "next_offset": 3},
    {"event": "listed", "entries": [], "after": None},
    {
        "event": "listed",
        "entries": [{"name": "ä", "kind": "dir", "len": 0}, {"name": "b", "kind": "file", "len": 9}],
        "after": "b",
    },
    {
        "event": "infer_many_done",
        "results": [
            {"text": "a", "tokens_out": 1, "finish": "eos", "tokens_in": 2, "tokens_cached": 0, "seed": 7},
            {"error": {"code": "context_overflow", "message": "too long"}},
        ],
    },
]  # fmt: skip


UNKNOWN_TO_C = {"page_texted", "page_text_attempted", "page_imaged", "embedded"}
"""Events that the header has no reader for; a block reads their fields from the JSON."""


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["event"])
def test_every_event_of_the_contract_is_read_field_by_field(
    language: Language, mirror: Guest, event: dict[str, Json]
) -> None:
    mirror.init(b"{}")

    told = progress(mirror.step(dump_json(event)))

    assert told == ({} if language is Language.C and event["event"] in UNKNOWN_TO_C else event)


COMMANDS: list[Json] = [
    {"cmd": "slice_bytes", "handle": 1, "offset": 2, "len": 18_446_744_073_709_551_615},
    {"cmd": "list", "path": "é"},
    {"cmd": "list", "path": "a", "after": "b"},
    {"cmd": "count_tokens", "text": "a\n"},
    {"cmd": "count_tokens", "messages": [{"role": "user", "content": "a"}]},
    {"cmd": "document_text", "handle": 1},
    {"cmd": "page_text", "handle": 1, "page": 4_294_967_295},
    {"cmd": "page_text_opt", "handle": 1, "page": 0},
    {"cmd": "page_image", "handle": 1, "page": 0},
    {"cmd": "image_op", "handle": 1, "op": {"op": "resize", "max_width": 2, "max_height": 3}},
    {"cmd": "image_op", "handle": 1, "op": {"op": "crop", "x": 1, "y": 2, "width": 3, "height": 4}},
    {"cmd": "embed", "texts": ["a", '"']},
    {"cmd": "fetch", "url": "a"},
    {"cmd": "infer_many", "requests": []},
    {
        "cmd": "infer_many",
        "requests": [
            {"prompt": "a", "max_tokens": 1, "temperature": 0.7, "stop": ["\n"]},
            {"messages": [{"role": "system", "content": "b"}], "max_tokens": 2, "seed": 4_294_967_295},
        ],
    },
    {"cmd": "infer", "prompt": "a", "max_tokens": 1, "json_schema": {"type": "object"}},
    {"cmd": "infer", "prompt": "a", "max_tokens": 1, "grammar": "start: /a/", "images": [3]},
]  # fmt: skip


@pytest.mark.parametrize("on_error", [False, True], ids=["", "on_error"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command["cmd"])
def test_every_command_of_the_contract_is_written_field_by_field(
    mirror: Guest, command: dict[str, Json], *, on_error: bool
) -> None:
    wanted = {**command, "on_error": "event"} if on_error else command

    assert json.loads(mirror.init(dump_json({"command": wanted}))) == wanted


@pytest.mark.parametrize(
    "event", ["[]", "{}", "null", '{"event":"later","text":"a"}', '{"event":"sliced"}', "", "{"]
)
def test_what_is_no_event_that_the_sdk_knows_is_unknown(mirror: Guest, event: str) -> None:
    mirror.init(b"{}")

    assert progress(mirror.step(event.encode())) == {}


@given(data=st.binary() | st.text('{}[]":,\\u0d8e1truefalsnul ', max_size=60).map(str.encode))
@hypothesis_settings(max_examples=100)
def test_no_bytes_make_the_reader_trap(long_lived_mirror: Guest, data: bytes) -> None:
    long_lived_mirror.init(b"{}")

    long_lived_mirror.step(b'{"event":"sliced","next_offset":1,"text":' + data)
    long_lived_mirror.step(data)


texts = st.text(st.characters(exclude_categories=["Cs"]))


def values(keys: st.SearchStrategy[str]) -> st.SearchStrategy[Json]:
    return st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    )


any_value = values(texts)
any_value_in_c = values(texts.filter(lambda key: "\0" not in key))
"""The header writes a key from a string that a zero byte ends."""


@given(drawn=st.data(), ascii_only=st.booleans())
@hypothesis_settings(max_examples=100)
def test_any_value_survives_reader_and_writer(
    language: Language, long_lived_mirror: Guest, drawn: st.DataObject, *, ascii_only: bool
) -> None:
    value = drawn.draw(any_value_in_c if language is Language.C else any_value)
    payload = json.dumps({"copy": value}, ensure_ascii=ascii_only).encode()

    copied = progress(long_lived_mirror.init(payload))

    assert json.dumps(copied, sort_keys=True) == json.dumps(value, sort_keys=True)


@given(number=st.floats(allow_nan=False, allow_infinity=False))
@hypothesis_settings(max_examples=100)
def test_a_number_survives_to_15_digits_and_in_c_to_14(
    language: Language, long_lived_mirror: Guest, number: float
) -> None:
    copied = progress(long_lived_mirror.init(dump_json({"copy": number})))

    lost = 1e-14 if language is Language.C else 1e-15
    assert math.isclose(copied, number, rel_tol=lost, abs_tol=1e-300)


def test_memory_does_not_grow_with_the_number_of_steps(mirror: Guest) -> None:
    event = dump_json({"event": "sliced", "text": "a line\n" * 1_000, "next_offset": 7_000})
    mirror.init(b"{}")
    for _ in range(50):
        mirror.step(event)
    before = mirror.accounting.memory_bytes_peak

    for _ in range(1_000):
        mirror.step(event)

    assert mirror.accounting.memory_bytes_peak == before


def test_payloads_that_creep_up_by_a_byte_do_not_cost_a_buffer_each(mirror: Guest) -> None:
    addresses = progress(mirror.init(dump_json({"sizes": list(range(60_000, 70_000, 10))})))

    assert len(set(addresses)) <= 3


def test_a_buffer_that_was_replaced_is_not_given_to_anybody_else(mirror: Guest) -> None:
    sizes = [1_000 * 2**doublings for doublings in range(12)]

    addresses = progress(mirror.init(dump_json({"sizes": sizes})))

    taken = sorted(dict(zip(addresses, sizes, strict=True)).items())
    assert all(start + size <= after for (start, size), (after, _) in pairwise(taken))


def test_windows_of_a_mebibyte_fit_into_the_memory_of_a_job_by_default(
    mirror_wasm: bytes, open_guest: OpenGuest
) -> None:
    mirror = open_guest(mirror_wasm, GuestLimits(command_bytes=2 * MEBIBYTE))
    mirror.init(b"{}")

    for size in range(MEBIBYTE // 4, MEBIBYTE + 1, MEBIBYTE // 4):
        window = "a\n" * (size // 2)
        told = progress(mirror.step(dump_json(Sliced(text=window, next_offset=size))))
        assert told["text"] == window


def test_a_guest_without_memory_ends_with_the_limit_and_not_with_a_bare_trap(
    mirror_wasm: bytes, open_guest: OpenGuest
) -> None:
    mirror = open_guest(mirror_wasm, GuestLimits(memory_bytes=4 * MEBIBYTE))

    with pytest.raises(JobError, match=f"memory_bytes: {4 * MEBIBYTE}") as ended:
        mirror.init(b'{"waste":true}')

    assert ended.value.code is ErrorCode.LIMIT_EXCEEDED


@pytest.mark.parametrize(("piece", "verdict"), [(b"go on", 0), (b"stop", 1)])
def test_a_listener_answers_each_piece(mirror: Guest, piece: bytes, verdict: int) -> None:
    mirror.init(b"{}")

    assert mirror.on_token(piece) == verdict


def test_the_module_has_no_imports_and_every_export(sandbox: Sandbox, mirror_wasm: bytes) -> None:
    block = sandbox.admit(mirror_wasm)

    assert block.exports.keys() >= EXPORTS
    assert block.abi_version == 1
