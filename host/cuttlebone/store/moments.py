"""Moments as whole microseconds since 1970, which stores keep and compare: exact, unlike a float."""

from datetime import UTC, datetime, timedelta
from typing import Final, overload

US: Final = 1_000_000
"""Microseconds in a second."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@overload
def microseconds(moment: datetime) -> int: ...
@overload
def microseconds(moment: datetime | None) -> int | None: ...
def microseconds(moment: datetime | None) -> int | None:
    """Microseconds since 1970."""
    return None if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)


@overload
def moment_of(microseconds: int) -> datetime: ...
@overload
def moment_of(microseconds: int | None) -> datetime | None: ...
def moment_of(microseconds: int | None) -> datetime | None:
    """The inverse of `microseconds`, in UTC."""
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
