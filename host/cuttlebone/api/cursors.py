"""Cursors of listings: opaque to callers, and sealed, as what they hold counts the jobs of all tenants."""

import base64
import binascii
from typing import Final

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.text.sealed_numbers import opened, sealed

_PURPOSE: Final = "jobs of "


def cursor_after(secret: bytes, tenant: str, number: int) -> str:
    """Write a cursor that leads to the jobs after that one in a listing of a tenant's."""
    return base64.urlsafe_b64encode(sealed(secret, _PURPOSE + tenant, number)).decode().rstrip("=")


def read_cursor(secret: bytes, tenant: str, cursor: str) -> int:
    """Return the number of the last job already seen; raise CallerError for what no listing gave out."""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        number = opened(
            secret, _PURPOSE + tenant, base64.b64decode(padded, altchars=b"-_", validate=True)
        )
    except (binascii.Error, ValueError):
        number = None
    if number is None:
        raise CallerError(
            ProblemCode.BAD_REQUEST,
            "`cursor` in the query: not one that a listing has given out; begin again without it",
        )
    return number
