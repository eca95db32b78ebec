"""A new state folder of what can be read of a damaged one."""

import os
import shutil
from pathlib import Path

from cuttlebone.errors import OperatorError
from cuttlebone.store.sqlite.folder_lock import lock_folder
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.salvage import GoneJob, Salvaged, salvage_database

__all__ = ["GoneJob", "Salvaged", "salvage"]


def salvage(state: Path, into: Path) -> Salvaged:
    """Copy `state` into the new or empty folder `into`, with a sound job store; leave `state` as it is.

    Raises OperatorError if a host uses `state`, if there is no job store, or if `into` has something in it.
    """
    if not any(state.glob(f"{FILE_NAME}*")):
        raise OperatorError(f"there is no job store in {state}; name the state folder of a host")
    lock = lock_folder(state)
    try:
        _make_room(into)
        salvaged = salvage_database(state / FILE_NAME, into / FILE_NAME)
        _copy_others(state, into)
    except OSError as error:
        raise OperatorError(
            f"{state} cannot be copied into {into}: {error.strerror}; {state} is as it was"
        ) from None
    finally:
        os.close(lock)
    return salvaged


def _make_room(into: Path) -> None:
    into.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise OperatorError(f"{into} has something in it; name a new folder")


def _copy_others(state: Path, into: Path) -> None:
    """All that a host keeps beside the store of its jobs."""
    for one in state.iterdir():
        if one.name.startswith((FILE_NAME, "lock")):
            continue
        if one.is_dir():
            shutil.copytree(one, into / one.name, symlinks=True)
        else:
            shutil.copy2(one, into / one.name, follow_symlinks=False)
