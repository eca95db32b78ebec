"""The log of a host that a command runs: on stderr, escaped, JSON lines unless a person reads it."""

import sys
from collections.abc import MutableMapping

import structlog
from structlog.types import Processor, WrappedLogger

from cuttlebone.cli.output import shown
from cuttlebone.text import printable
from cuttlebone_abi import Json


def log_to_stderr(*, level: int) -> None:
    """Send what this process logs at `level` and above to stderr, since stdout is for results."""
    person = sys.stderr.isatty()
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if person
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            escape,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def escape(
    _logger: WrappedLogger, _method: str, record: MutableMapping[str, Json]
) -> MutableMapping[str, Json]:
    """Make every text of a record safe to show, and cut it; a traceback keeps its lines."""
    for name, value in record.items():
        if isinstance(value, str):
            record[name] = shown(value) if name == "exception" else printable(value)
    return record
