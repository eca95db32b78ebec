"""Cursors of listings: opaque to callers, so that what they hold may change."""

import base64
import binascii
from typing import Final

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.job import Job
from cuttlebone_abi import MalformedMessage, dump_json, load_json

NUMBER_MAX: Final = (1 << 63) - 1


def cursor_after(job: Job) -> str:
    """Write a cursor that leads to the jobs after `job` in a listing."""
    return base64.urlsafe_b64encode(dump_json({"before": job.number})).decode().rstrip("=")


def read_cursor(cursor: str) -> int:
    """Return the number of the last job already seen; raise CallerError for what no listing gave out."""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        value = load_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, MalformedMessage, ValueError):
        value = None
    match value:
        case {"before": int(number)} if 0 < number <= NUMBER_MAX:
            return number
        case _:
            raise CallerError(
                ProblemCode.BAD_REQUEST,
                "`cursor` in the query: not one that a listing has given out; "
                "begin again without it",
            )
