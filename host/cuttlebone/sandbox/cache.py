"""Compiled modules kept on disk, each under an HMAC: nothing unauthenticated is ever deserialised.

A compiled module is machine code. One flipped bit crashes the process or computes wrong results,
so the bytes that are checked are the very bytes that are loaded.
"""

import hashlib
import hmac
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.saving import make_private, save, save_first

_KEY_BYTES: Final = 32
_KEY_NAME: Final = "key"
_ENDING: Final = ".cwasm"
_TAG_BYTES: Final = 32
CACHE_BYTES_MAX: Final = 1 << 30

_log = structlog.get_logger(__name__)


class ArtefactCache:
    """One folder of artefacts, mode 0700. Safe to use from any thread and from several processes.

    Invariants: files appear whole, by rename; the key never leaves the folder; what fails
    authentication is logged, counted and taken away, so that the next `put` has its place.
    """

    def __init__(self, folder: Path, *, bytes_max: int = CACHE_BYTES_MAX) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._counting = threading.Lock()
        self.damaged = 0
        """Entries that were found damaged."""
        try:
            make_private(folder)
            self._check_folder()
            self._key = self._load_key()
        except OSError as error:
            raise OperatorError(
                f"the cache folder {folder} cannot be used: {error.strerror}; choose another one "
                "with `cache` in the settings"
            ) from None

    def get(self, name: str) -> bytes | None:
        """The artefact that was put under `name`, or None if there is none that is authentic."""
        path = self._folder / f"{name}{_ENDING}"
        try:
            return _authentic(path, self._key)
        except FileNotFoundError:
            return None
        except (OSError, _NotAuthenticError) as error:
            self._mend(path, str(error))
            return None

    def put(self, name: str, artefact: bytes) -> None:
        """Keep an artefact. A full disk is no error: the next start compiles again."""
        with suppress(OSError):
            path = self._folder / f"{name}{_ENDING}"
            save(path, _tag(self._key, name, artefact) + artefact, mode=0o600)
        self._prune()

    def _prune(self) -> None:
        """Drop the files that were written first until the rest is within bounds."""
        files = []
        for path in self._folder.glob(f"*{_ENDING}"):
            try:
                status = path.stat()
            except FileNotFoundError:  # another process prunes as well
                continue
            files.append((status.st_mtime_ns, status.st_size, path))
        excess = sum(size for _, size, _ in files) - self._bytes_max
        for _, size, path in sorted(files):
            if excess <= 0:
                return
            _remove(path)
            excess -= size

    def _mend(self, path: Path, reason: str) -> None:
        """Take away what is no artefact; the module is compiled again."""
        with self._counting:
            self.damaged += 1
        _log.warning(
            "a compiled module in the cache was damaged, it is compiled again",
            file=str(path),
            reason=reason,
        )
        _remove(path)

    def _check_folder(self) -> None:
        status = self._folder.stat()
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise OperatorError(
                f"the cache folder {self._folder} is open to others; it must belong to the user "
                f"of the host and have mode 0700: chmod 700 {self._folder}"
            )

    def _load_key(self) -> bytes:
        path = self._folder / _KEY_NAME
        if not path.exists():
            save_first(path, secrets.token_bytes(_KEY_BYTES))  # two hosts at once agree on one
        key = path.read_bytes()
        if len(key) != _KEY_BYTES:
            raise OperatorError(f"{path} is damaged; delete the folder {self._folder} and restart")
        return key


class _NotAuthenticError(Exception):
    """What a file holds is not what a host wrote there."""


def damaged_in(folder: Path) -> Sequence[Path]:
    """The entries of a cache that are damaged, for whoever looks from outside; changes nothing.

    Empty where there is no cache. Raises OSError.
    """
    try:
        key = (folder / _KEY_NAME).read_bytes()
    except FileNotFoundError:
        return ()
    damaged = []
    for path in sorted(folder.glob(f"*{_ENDING}")):
        try:
            _authentic(path, key)
        except FileNotFoundError:  # a host has pruned it meanwhile
            continue
        except (OSError, _NotAuthenticError):
            damaged.append(path)
    return damaged


def _authentic(path: Path, key: bytes) -> bytes:
    """The artefact in a file; raise OSError or _NotAuthenticError."""
    stored = path.read_bytes()
    tag, artefact = stored[:_TAG_BYTES], stored[_TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(key, path.name.removesuffix(_ENDING), artefact)):
        raise _NotAuthenticError("it is not what a host wrote there")
    return artefact


def _tag(key: bytes, name: str, artefact: bytes) -> bytes:
    # The name is part of it: an authentic file moved to another name is not authentic there.
    authenticator = hmac.new(key, name.encode() + b"\0", hashlib.sha256)
    authenticator.update(artefact)
    return authenticator.digest()


def _remove(path: Path) -> None:
    """Take away an entry, whatever it is; what cannot be taken away is in the way of no job."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
