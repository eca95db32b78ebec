"""The folders of a host, and the store of jobs in one of them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cuttlebone.diagnosis.diagnosis import Diagnosis, fine, mend, note
from cuttlebone.errors import OperatorError
from cuttlebone.sandbox import damaged_in
from cuttlebone.store.sqlite.inspection import inspect_store

DISK_BYTES_MIN: Final = 1 << 30
"""Less free space than this is worth a word: a full disk ends the accepting of jobs."""

_NAMED_MAX: Final = 3


def folder(area: str, wanted: Path) -> Iterator[Diagnosis]:
    """Whether a folder is there, or can be made, is writable, for one user alone, and has space."""
    there = next(one for one in (wanted, *wanted.absolute().parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        advice = "give another folder, or run the host as the user that owns it"
        yield mend(area, f"{there} cannot be written", advice)
        return
    if there is wanted and wanted.stat().st_mode & 0o077:
        yield mend(area, f"others may enter {wanted}", f"chmod 700 {wanted}")
    else:
        yield fine(area, f"{wanted}{'' if there is wanted else ' will be made'}")
    free = shutil.disk_usage(there).free
    if free < DISK_BYTES_MIN:
        left = f"{free >> 20} MiB of disk are left for {wanted}"
        yield mend(area, left, "make room; while the disk is full no job is accepted")


def module_cache(wanted: Path) -> Iterator[Diagnosis]:
    """Whether each compiled module that is kept is as a host wrote it."""
    area = "cache folder"
    try:
        damaged = damaged_in(wanted)
    except OSError as error:
        yield mend(area, f"{wanted} cannot be read: {error.strerror}", f"delete {wanted}")
        return
    if damaged:
        named = ", ".join(one.name for one in damaged[:_NAMED_MAX])
        more = f" and {len(damaged) - _NAMED_MAX} more" if len(damaged) > _NAMED_MAX else ""
        what = f"compiled modules in {wanted} are damaged: {named}{more}"
        yield note(area, what, "look after the disk; the host compiles them again")


def job_store(state: Path) -> Iterator[Diagnosis]:
    """Whether the store of a state folder can be read by this version."""
    area = "job store"
    try:
        facts = inspect_store(state)
    except OperatorError as error:
        advice = f"`cuttlebone salvage {state} --into FOLDER`, or put a backup into an empty folder"
        yield mend(area, str(error), advice)
        return
    if facts is None:
        return
    if facts.schema > facts.schema_known:
        yield mend(area, f"{facts.path} was written by a newer host", "install that version")
    else:
        yield fine(area, f"{facts.jobs} jobs, schema version {facts.schema}")
