"""The lock of a state folder: one process at a time uses it under one name."""

import fcntl
import os
from pathlib import Path

from cuttlebone.errors import OperatorError
from cuttlebone.saving import make_private
from cuttlebone.store.leases import OWNER_NAME


def lock_folder(folder: Path, owner: str = OWNER_NAME) -> int:
    """Take a name in the folder for this process; raise OperatorError if another host has it."""
    try:
        make_private(folder)
        name = "lock" if owner == OWNER_NAME else f"lock-{owner}"
        lock = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OperatorError(
            f"the state folder {folder} cannot be used: {error.strerror}; give another --state DIR"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise OperatorError(
            f"another host uses the state folder {folder}; stop it, or give another --state DIR"
        ) from None
    return lock
