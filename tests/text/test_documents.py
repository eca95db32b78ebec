"""Documents: YAML 1.2 by the core schema, or JSON; nothing guessed, everything bounded."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.text.documents import DOCUMENT_BYTES_MAX, MalformedDocument, read_document
from cuttlebone.text.json_values import DEPTH_MAX, VALUES_MAX, is_text, pointer, shown, value_fault

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("007", 7),
        ("1_0", "1_0"),
        ("0b11", "0b11"),
        ("0o17", 15),
        ("0x1F", 31),
        ("10:30", "10:30"),
        ("2030-01-01", "2030-01-01"),
        ("2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
        ("1e5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.inf", -math.inf),
        ("inf", "inf"),
        ("~", None),
        ("null", None),
        ("nULL", "nULL"),
        ("'1'", "1"),
        ('"~"', "~"),
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("!!float 1", 1.0),
        ("!!int 1", 1),
        ("\u0661", "\u0661"),
        ("9007199254740993", 9007199254740993),
        ("18446744073709551616", 18446744073709551616),
    ],
)
def test_a_yaml_scalar_means_what_the_core_schema_says(written: str, meant: object) -> None:
    value = read_document(f"a: {written}\n".encode())
    assert isinstance(value, dict)
    assert (value["a"], type(value["a"])) == (meant, type(meant))


def test_a_key_is_text_as_written() -> None:
    assert _read("7: a\nyes: b\n~: c\n") == {"7": "a", "yes": "b", "~": "c"}


def test_an_anchor_repeats_its_value() -> None:
    assert _read("a: &x [1]\nb: *x\n<<: *x\n") == {"a": [1], "b": [1], "<<": [1]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no document"),
        ("# only a comment\n", "no document"),
        ("a: 1\nb: 2\na: 3\n", 'line 3: the key "a" stands here for the second time'),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice'),
        ('{"a": {"b": 1, "b": 2}}', 'the key "b" stands twice'),
        ("{a: 1, a: 2}", "for the second time"),
        ("1: a\n'1': b\n", "for the second time"),
        ("--- 1\n--- 2\n", "line 2: a second document"),
        ("&a [*a]", "no anchor before it"),
        ("*a", "no anchor before it"),
        ("!!python/name:os.system x", "no value of the tag"),
        ("!!int x", "no value of the tag"),
        ("!!bool 1", "no value of the tag"),
        ("!!set {a}", "has no meaning"),
        ("[a]: b", "keys are text"),
        ("a: [", "line 1"),
        ("a:\tb: c", "line 1"),
        ('"\\ud800"', "lone surrogate"),
        ('["\\udc00\\ud800"]', "lone surrogate"),
        ('"\\U00110000"', "not YAML"),
        ('"\\UFFFFFFFF"', "not YAML"),
        ("\x07", "not YAML"),
        ("1" * 901, "901 digits"),
        ("[" + "1" * 901 + "]", "901 digits"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(MalformedDocument) as refused:
        _read(text)
    assert told in str(refused.value)


def test_what_is_not_utf_8_is_refused() -> None:
    with pytest.raises(MalformedDocument, match="not UTF-8: invalid start byte at byte 2"):
        read_document(b'"a\xff"')


def test_a_byte_order_mark_is_no_text() -> None:
    assert read_document(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_json_joins_the_escapes_of_a_surrogate_pair() -> None:
    assert _read('["\\ud83d\\ude00"]') == _read('- "\\ud83d\\ude00"') == ["😀"]


def test_a_document_of_a_mebibyte_is_read_and_not_one_byte_more() -> None:
    text = "[1]".ljust(DOCUMENT_BYTES_MAX)
    assert _read(text) == [1]
    with pytest.raises(MalformedDocument, match="more than 1048576 bytes"):
        _read(text + " ")


@pytest.mark.parametrize("form", ["{}", "a: {}"])
def test_nesting_has_a_bound(form: str) -> None:
    depth = DEPTH_MAX - form.count(":")
    assert _read(form.format("[" * depth + "]" * depth)) is not None
    for deeper in (depth + 1, 100_000):
        with pytest.raises(MalformedDocument, match="nests deeper than 64 levels"):
            _read(form.format("[" * deeper + "]" * deeper))


def test_anchors_cannot_multiply_beyond_a_bound() -> None:
    lines = [f"a{at}: &a{at} [{','.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 20)]
    with pytest.raises(MalformedDocument, match=f"more than {VALUES_MAX} values"):
        _read("\n".join(["a0: &a0 [1]", *lines]))


@given(JSON)
def test_json_is_read_as_what_it_was_written_from(value: object) -> None:
    assert _read(json.dumps([value])) == [value]
    assert _read(json.dumps([value], ensure_ascii=False)) == [value]


@given(
    st.binary() | st.text(alphabet="{}[]:,-&*!?|>'\"%#@` \n\tab01.~\\uUxd\ufeff").map(str.encode)
)
def test_no_bytes_raise_anything_but_a_refusal(data: bytes) -> None:
    try:
        value = read_document(data)
    except MalformedDocument:
        return
    assert value_fault(value) is None


def test_a_value_that_holds_itself_is_found_by_its_depth() -> None:
    loop: list[object] = []
    loop.append(loop)
    fault = value_fault(loop)
    assert fault is not None
    assert "nests deeper" in fault.reason


@pytest.mark.parametrize(
    "value", [(1,), {1}, b"a", object(), {1: 2}, {"\ud800": 1}, ["\udfff"], 1 << 4000, {None: 1}]
)
def test_what_json_cannot_hold_is_a_fault(value: object) -> None:
    fault = value_fault([value])
    assert fault is not None
    assert fault.path[0] == 0


@given(st.lists(st.text() | st.integers(min_value=0)))
def test_a_pointer_has_one_step_a_part(path: list[str | int]) -> None:
    steps = pointer(path).split("/")[1:]
    assert [step.replace("~1", "/").replace("~0", "~") for step in steps] == list(map(str, path))


@given(st.text(alphabet=st.characters()) | st.integers() | st.floats() | st.none() | st.booleans())
def test_whatever_is_shown_is_short_and_on_one_line(value: object) -> None:
    assert len(shown(value).splitlines()) <= 1
    assert len(shown(value)) < 1000
    assert shown(10**3000) == "an integer of 9966 bits"


def test_a_surrogate_alone_is_no_text() -> None:
    assert is_text("😀")
    assert not is_text("\ud83d")


def _read(text: str) -> object:
    return read_document(text.encode())
