"""Compiled modules kept on disk, each under an HMAC: nothing unauthenticated is ever deserialised.

A compiled module is machine code. One flipped bit crashes the process or computes wrong results,
so the bytes that are checked are the very bytes that are loaded.
"""

import hashlib
import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.saving import make_private, save, save_first

_KEY_BYTES: Final = 32
_TAG_BYTES: Final = 32
CACHE_BYTES_MAX: Final = 1 << 30


class ArtefactCache:
    """One folder of artefacts, mode 0700. Safe to use from any thread and from several processes.

    Invariants: files appear whole, by rename; the key never leaves the folder; a file that fails
    authentication counts as absent and is overwritten by the next `put`.
    """

    def __init__(self, folder: Path, *, bytes_max: int = CACHE_BYTES_MAX) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
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
        try:
            stored = (self._folder / f"{name}.cwasm").read_bytes()
        except OSError:
            return None
        tag, artefact = stored[:_TAG_BYTES], stored[_TAG_BYTES:]
        return artefact if hmac.compare_digest(tag, self._tag(name, artefact)) else None

    def put(self, name: str, artefact: bytes) -> None:
        """Keep an artefact. A full disk is no error: the next start compiles again."""
        with suppress(OSError):
            save(self._folder / f"{name}.cwasm", self._tag(name, artefact) + artefact, mode=0o600)
        self._prune()

    def _prune(self) -> None:
        """Drop the files that were written first until the rest is within bounds."""
        files = []
        for path in self._folder.glob("*.cwasm"):
            try:
                status = path.stat()
            except FileNotFoundError:  # another process prunes as well
                continue
            files.append((status.st_mtime_ns, status.st_size, path))
        excess = sum(size for _, size, _ in files) - self._bytes_max
        for _, size, path in sorted(files):
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size

    def _tag(self, name: str, artefact: bytes) -> bytes:
        # The name is part of it: an authentic file moved to another name is not authentic there.
        authenticator = hmac.new(self._key, name.encode() + b"\0", hashlib.sha256)
        authenticator.update(artefact)
        return authenticator.digest()

    def _check_folder(self) -> None:
        status = self._folder.stat()
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise OperatorError(
                f"the cache folder {self._folder} is open to others; it must belong to the user "
                f"of the host and have mode 0700: chmod 700 {self._folder}"
            )

    def _load_key(self) -> bytes:
        path = self._folder / "key"
        if not path.exists():
            save_first(path, secrets.token_bytes(_KEY_BYTES))  # two hosts at once agree on one
        key = path.read_bytes()
        if len(key) != _KEY_BYTES:
            raise OperatorError(f"{path} is damaged; delete the folder {self._folder} and restart")
        return key
