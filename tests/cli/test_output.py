"""What is written can be shown on a terminal, whatever came from outside, and is still the same JSON."""

import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cuttlebone.cli.logs import escape
from cuttlebone.cli.output import json_text, shown
from cuttlebone.cli.watching import EventView
from cuttlebone_abi import Json

TEXT = st.text(st.characters(), max_size=50)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_json_is_printable_and_means_the_same(value: Json) -> None:
    line, pretty = json_text(value, pretty=False), json_text(value, pretty=True)
    assert json.loads(line) == json.loads(pretty) == value
    assert line.isprintable()
    assert pretty.replace("\n", "").isprintable()


def test_json_keeps_words_of_every_language_readable() -> None:
    assert json_text({"日本": "naïve 🦑"}, pretty=False) == '{"日本":"naïve 🦑"}'


@given(TEXT)
def test_shown_text_is_printable_but_for_line_ends(text: str) -> None:
    assert all(char.isprintable() or char == "\n" for char in shown(text))


def _view(events: list[tuple[str, Json]], *, width: int = 60) -> str:
    written = StringIO()
    console = Console(file=written, width=width, markup=False, emoji=False, highlight=False)
    view = EventView(console)
    for kind, data in events:
        view.show(kind, data)
    view.close()
    return written.getvalue()


def test_pieces_of_text_run_on_and_other_events_begin_a_line() -> None:
    assert (
        _view(
            [
                ("status", {"status": "running"}),
                ("token", {"text": "Once "}),
                ("token", {"text": "upon\na time"}),
                ("progress", {"window": 1, "of": "two"}),
                ("token", {"text": "end"}),
                ("status", {"status": "completed"}),
                ("result", {"status": "completed"}),
            ]
        )
        == "● running\nOnce upon\na time\n→ window 1, of two\nend\n● completed\n"
    )


def test_what_a_job_waits_for_is_shown_as_such() -> None:
    told: Json = {"status": "running", "waiting_for": "the model `main` to be loaded"}
    assert _view([("status", told)]) == "… waiting for the model `main` to be loaded\n"


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        ("half", "→ half"),
        (7, "→ 7"),
        ({"at": [1, 2]}, '→ {"at":[1,2]}'),
        ({}, "→ {}"),
        ({"done": True, "left": None}, "→ done true, left null"),
        ("[red]:warning:[/red]", "→ [red]:warning:[/red]"),
        ("\x1b]0;title\x07", "→ \\x1b]0;title\\x07"),
    ],
)
def test_progress_of_any_form_is_a_line(progress: Json, line: str) -> None:
    assert _view([("progress", progress)]) == line + "\n"


def test_long_text_is_not_broken_by_the_width_of_the_terminal() -> None:
    assert _view([("progress", "word " * 40)], width=20) == "→ " + "word " * 40 + "\n"


@pytest.mark.parametrize(
    "event", [("token", {"tokens": 1}), ("status", "new"), ("something new", 1), ("snapshot", {})]
)
def test_events_that_are_not_for_people_are_left_out(event: tuple[str, Json]) -> None:
    assert _view([event]) == ""


def test_a_failure_is_shown_with_its_reason() -> None:
    error = {"code": "timeout", "message": "\x1b[1mlate"}
    assert _view([("result", {"status": "failed", "error": error})]) == (
        "● failed, timeout: \\x1b[1mlate\n"
    )


def test_a_log_record_is_escaped_and_cut_but_a_traceback_keeps_its_lines() -> None:
    record = escape(None, "info", {"path": "\x1b" + "a" * 300, "exception": "one\n\x1btwo", "n": 1})
    assert record["path"].startswith("\\x1baaa")
    assert record["path"].endswith("…")
    assert record["exception"] == "one\n\\x1btwo"
    assert record["n"] == 1


@pytest.mark.parametrize(
    ("progress", "width", "line"),
    [
        ({"done": 1, "total": 4}, 80, "→ █████░░░░░░░░░░░░░░░  25%  1 of 4"),
        ({"done": 2, "total": 4, "unit": "pages"}, 40, "→ ████░░░░  50%  2 of 4 pages"),
        ({"done": 0, "total": 3, "unit": 7}, 40, "→ ░░░░░░░░   0%  0 of 3"),
        ({"done": 5, "total": 4}, 80, "→ done 5, total 4"),
        ({"done": 0, "total": 0}, 80, "→ done 0, total 0"),
        ({"done": True, "total": 1}, 80, "→ done true, total 1"),
        ({"pages_read": 3}, 80, "→ pages read 3"),
    ],
)
def test_progress_that_counts_is_a_bar_that_fits(progress: Json, width: int, line: str) -> None:
    assert _view([("progress", progress)], width=width) == line + "\n"


def test_a_job_that_is_watched_from_its_beginning_is_told_with_its_pace() -> None:
    written, times = StringIO(), iter([10.0, 14.5])
    view = EventView(Console(file=written, width=80), lambda: next(times))
    for kind, data in (
        ("token", {"text": "a"}),
        ("token", {"text": "b"}),
        ("result", {"status": "completed", "usage": {"tokens_out": 9, "duration_ms": 2000}}),
    ):
        view.show(kind, data)
    assert written.getvalue() == "ab\n● completed after 4.5 s, 9 tokens, 4.5 tokens/s\n"


def test_a_job_without_text_is_told_with_its_time_alone() -> None:
    written, times = StringIO(), iter([1.0, 2.0])
    view = EventView(Console(file=written, width=80), lambda: next(times))
    view.show("result", {"status": "failed", "usage": {"tokens_out": 0, "duration_ms": 5}})
    assert written.getvalue() == "● failed after 1.0 s\n"
