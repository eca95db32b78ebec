"""The log of a host: one line a record, whatever is in it."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from cuttlebone.cli.logs import TRACE_CHARS_MAX, log_to
from cuttlebone.text import SHOWN_CHARS_MAX
from cuttlebone_abi import Json

HOSTILE = 'a\nfaked: "line"\x1b[2J\u2028\x9b31m' + "x" * 1_000


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    log_to(stream, level=logging.INFO, person=False)
    yield stream
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def records(written: io.StringIO) -> list[dict[str, Json]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_record_is_a_line_of_json_with_time_and_level(written: io.StringIO) -> None:
    structlog.get_logger("x").info("job ended", job="a1", spec="echo", attempts=2)
    (record,) = records(written)
    assert record.pop("timestamp").endswith("Z")
    assert record == {
        "event": "job ended",
        "level": "info",
        "job": "a1",
        "spec": "echo",
        "attempts": 2,
    }


def test_what_comes_from_outside_is_escaped_and_cut(written: io.StringIO) -> None:
    structlog.get_logger("x").warning(
        "refused", path=HOSTILE, listed=[HOSTILE], error=ValueError(HOSTILE)
    )
    (record,) = records(written)
    assert all(char.isprintable() for char in written.getvalue().strip("\n"))
    for name in ("path", "listed", "error"):
        assert len(record[name]) <= SHOWN_CHARS_MAX + HOSTILE.count("\n") * 20
        assert "\n" not in record[name]


def test_a_traceback_is_part_of_its_record(written: io.StringIO) -> None:
    try:
        int(HOSTILE)
    except ValueError:
        structlog.get_logger("x").exception("a fault")
    (record,) = records(written)
    assert "\x1b" not in record["exception"]
    assert len(record["exception"]) < TRACE_CHARS_MAX * 6


def test_what_is_below_the_level_is_left_out(written: io.StringIO) -> None:
    structlog.get_logger("x").debug("details")
    assert records(written) == []


def test_what_libraries_log_comes_in_the_same_form(written: io.StringIO) -> None:
    logging.getLogger("asyncio").error("task failed: %s", HOSTILE)
    logging.getLogger("httpx").info("a request")
    (record,) = records(written)
    assert (record["logger"], record["level"]) == ("asyncio", "error")
    assert record["event"].startswith("task failed: a\\nfaked")


def test_a_terminal_that_is_gone_ends_nothing(written: io.StringIO) -> None:
    written.close()

    structlog.get_logger("x").error("nobody reads this")
    logging.getLogger("library").error("nor this")
