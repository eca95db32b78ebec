"""Jobs as a person names them: by id, by the beginning of one, or as `last`."""

import re
from typing import Final

import typer

from cuttlebone.client import Client, JobSummary, Refused

JOBS_MAX: Final = 2_000
"""How many jobs, the newest, are looked through for a beginning or counted back."""

_PAGE: Final = 200
_LAST: Final = re.compile(r"last(?:~([0-9]{1,9}))?")
_SHOWN_MAX: Final = 3


def whole_id(client: Client, stated: str) -> str:
    """Find the id that was meant: `last`, `last~2` (two before it), an id, or the beginning of one.

    Raise typer.BadParameter where that is none or several, Refused, Unreachable. No id can be
    mistaken for `last`: those have 8 characters and more, and never a `~`.
    """
    counted = _LAST.fullmatch(stated)
    if counted is not None:
        return _counted_back(client, int(counted[1] or 0), stated)
    try:
        return client.job(stated).id
    except Refused as error:
        if error.code != "unknown_job":
            raise
        found = _beginning(client, stated)
        if found is None:
            raise
        return found


def _counted_back(client: Client, back: int, stated: str) -> str:
    newest = _newest(client, back + 1) if back < JOBS_MAX else []
    if back < len(newest):
        return newest[back].id
    if back >= JOBS_MAX:
        raise _bad(f"{stated}: at most last~{JOBS_MAX - 1}; `cuttlebone jobs` lists older ones")
    there = f"there are only {len(newest)} jobs" if newest else "there are no jobs"
    raise _bad(f"{stated}: {there}")


def _beginning(client: Client, stated: str) -> str | None:
    found = [one.id for one in _newest(client, JOBS_MAX) if stated and one.id.startswith(stated)]
    if len(found) > 1:
        more = ", …" if len(found) > _SHOWN_MAX else ""
        named = ", ".join(found[:_SHOWN_MAX])
        raise _bad(f"{stated} is the beginning of {len(found)} ids: {named}{more}")
    return found[0] if found else None


def _newest(client: Client, count: int) -> list[JobSummary]:
    found: list[JobSummary] = []
    cursor = None
    while len(found) < count:
        page = client.jobs(limit=min(_PAGE, count - len(found)), cursor=cursor)
        found += page.jobs
        cursor = page.cursor
        if cursor is None:
            break
    return found


def _bad(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="ID")
