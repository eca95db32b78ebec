"""What counts as expected, and what is recorded."""

import pytest

from cuttlebone.authoring.case import Expectation
from cuttlebone.authoring.comparison import Outcome, difference, recorded
from cuttlebone_abi import Completed, Failed, Failure, Json, Usage

USAGE = Usage(tokens_in=3, tokens_out=2, duration_ms=17, model="writer")


def completed(result: Json, *progress: Json) -> Outcome:
    return Outcome(Completed(result=result, usage=USAGE), progress)


def failed(code: str, message: str) -> Outcome:
    return Outcome(Failed(error=Failure(code=code, message=message), usage=USAGE), ())


def expecting(**stated: Json) -> Expectation:
    return Expectation.model_validate(stated)


@pytest.mark.parametrize(
    "stated",
    [
        {"status": "completed"},
        {"status": "completed", "result": {"b": [1.0, "x"], "a": None}},
        {"status": "completed", "usage": {"tokens_in": 3, "model": "writer"}},
        {"status": "completed", "progress": [{"window": 1}]},
    ],
)
def test_only_what_is_stated_is_compared(stated: dict[str, Json]) -> None:
    outcome = completed({"a": None, "b": [1, "x"]}, {"window": 1})

    assert difference(expecting(**stated), outcome) == []


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        ({"status": "failed"}, '-  "status": "failed"'),
        ({"status": "completed", "result": {}}, '+    "a": 1'),
        ({"status": "completed", "result": {"a": True}}, '-    "a": true'),
        ({"status": "completed", "usage": {"tokens_out": 9}}, '+    "tokens_out": 2'),
        ({"status": "completed", "progress": []}, '+    "half"'),
        ({"status": "completed", "result": None}, '-  "result": null,'),
    ],
)
def test_a_difference_is_shown_line_by_line(stated: dict[str, Json], line: str) -> None:
    lines = difference(expecting(**stated), completed({"a": 1}, "half"))

    assert lines[:2] == ["--- expected", "+++ came"]
    assert line in lines


def test_the_reason_of_a_failure_is_shown_where_a_result_was_expected() -> None:
    lines = difference(expecting(status="completed", result=1), failed("not_text", "byte 0xff"))

    assert lines[-1] == "not compared: it ended as not_text: byte 0xff"


def test_no_field_is_shown_that_was_not_compared() -> None:
    lines = difference(
        expecting(status="failed", error={"code": "other"}), failed("not_text", "byte 0xff")
    )

    assert '-    "code": "other"' in lines
    assert not [line for line in lines if "message" in line or "usage" in line or "17" in line]


def test_long_texts_are_cut_to_where_they_part_with_a_mark_there() -> None:
    common = "word " * 1_000
    expected, came = completed(f"{common}old end"), completed(f"{common}new end")
    lines = difference(
        expecting(**expected.envelope.model_dump(include={"status", "result"})), came
    )

    old, new, mark = lines[lines.index("@@ -1,4 +1,4 @@") + 2 :][:3]
    assert (old[:2], new[:2]) == ("-…", "+…")
    at = mark.index("^")
    assert (old[at:], new[at:]) == ('old end",', 'new end",')
    assert max(map(len, lines)) < 150


def test_a_code_alone_may_be_expected_of_an_error() -> None:
    outcome = failed("not_text", "byte 0xff")

    assert difference(expecting(status="failed", error={"code": "not_text"}), outcome) == []
    assert difference(expecting(status="failed", error={"code": "other"}), outcome)


def test_status_and_result_are_recorded_and_what_else_was_stated() -> None:
    outcome = completed(7, "half")

    assert recorded(None, outcome) == {"status": "completed", "result": 7}
    stated = expecting(status="completed", result=1, usage={"tokens_in": 0}, progress=[])
    assert recorded(stated, outcome) == {
        "status": "completed",
        "result": 7,
        "usage": {"tokens_in": 3},
        "progress": ["half"],
    }


def test_an_error_is_recorded_with_what_was_stated_of_it() -> None:
    outcome = failed("not_text", "byte 0xff")

    assert recorded(None, outcome)["error"] == {"code": "not_text", "message": "byte 0xff"}
    stated = expecting(status="failed", error={"code": "other"})
    assert recorded(stated, outcome) == {"status": "failed", "error": {"code": "not_text"}}
