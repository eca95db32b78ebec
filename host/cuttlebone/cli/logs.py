"""The log of a host that a command runs: on stderr, escaped, JSON lines unless a person reads it."""

import io
import logging
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final, TextIO, cast

import structlog
from structlog.types import Processor, WrappedLogger

from cuttlebone.cli.output import shown
from cuttlebone.text import printable
from cuttlebone_abi import Json

TRACE_CHARS_MAX: Final = 16_384
"""Of a traceback; its end says what happened."""
_TRACES: Final = frozenset({"exception", "traceback"})


def log_to_stderr(*, level: int) -> None:
    """Send what this process logs at `level` and above to stderr, since stdout is for results."""
    log_to(sys.stderr, level=level, person=sys.stderr.isatty())


class Enduring(io.TextIOBase):
    """Writes to a stream and never raises: a terminal that is gone must not end the thread that logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or drop the text where the stream is closed or broken."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def log_to(stream: TextIO, *, level: int, person: bool) -> None:
    """Send what this process logs to a stream: one line a record, or for a person to read.

    What libraries log with the standard library comes the same way, from WARNING on.
    """
    enduring = cast("TextIO", Enduring(stream))
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if person
        else structlog.processors.JSONRenderer()
    )
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        escape,
    ]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(enduring),
    )
    handler = logging.StreamHandler(enduring)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)


def escape(
    _logger: WrappedLogger, _method: str, record: MutableMapping[str, Json]
) -> MutableMapping[str, Json]:
    """Make every text of a record safe to show, and cut it; a traceback keeps its lines."""
    for name, value in record.items():
        if name.startswith("_"):
            continue  # what the standard library's records carry for the formatter
        if name in _TRACES and isinstance(value, str):
            record[name] = shown(value[-TRACE_CHARS_MAX:])
        else:
            record[name] = _safe(value)
    return record


def _safe(value: Json) -> Json:
    """Numbers as they are, anything else as one text that is safe to show."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return printable(value if isinstance(value, str) else repr(value))
