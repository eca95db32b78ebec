"""Cursors of listings: opaque to callers, so that what they hold may change."""

import base64
import binascii

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.jobs.job import Job
from cuttlebone_abi import MalformedMessage, dump_json, load_json


def cursor_after(job: Job) -> str:
    """Write a cursor that leads to the jobs after `job` in a listing."""
    return base64.urlsafe_b64encode(dump_json({"before": job.id})).decode().rstrip("=")


def read_cursor(cursor: str) -> str:
    """Return the id of the last job already seen; raise CallerError for what no listing gave out."""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        value = load_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, MalformedMessage, ValueError):
        value = None
    match value:
        case {"before": str(job_id)}:
            return job_id
        case _:
            raise CallerError(
                ProblemCode.BAD_REQUEST,
                "`cursor` in the query: not one that a listing has given out; "
                "begin again without it",
            )
