"""Who runs an attempt, and for how long that is believed: the rules that every store keeps."""

import uuid
from datetime import datetime, timedelta
from typing import Final

LEASE_S: Final = 30.0
"""An attempt whose owner says nothing for so long is taken from it."""
RENEW_EVERY_S: Final = 10.0
OWNER_NAME: Final = "host"
"""The name of the one host that a machine's state folder has. Its lock is held by who has the name."""


def new_owner(name: str) -> str:
    """An owner of that name in a life of its own, told apart from every other life."""
    return f"{name}/{uuid.uuid4().hex}"


def name_of(owner: str) -> str:
    """The name that the lives of an owner share."""
    return owner.rpartition("/")[0]


def lease_end(moment: datetime) -> datetime:
    """Until when an attempt is its owner's that was claimed or renewed at a moment."""
    return moment + timedelta(seconds=LEASE_S)


def may_take(taker: str, *, owner: str, until: datetime, moment: datetime) -> bool:
    """Whether an owner may queue again what another one runs.

    A name is held by one life at a time, so what an earlier life of the taker ran is over at once;
    what others run is theirs until its lease has ended.
    """
    if owner == taker:
        return False
    return name_of(owner) == name_of(taker) or until <= moment
