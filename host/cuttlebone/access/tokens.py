"""Tokens in a file of the state folder: only their digests, changed under a lock, read when changed."""

import fcntl
import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from cuttlebone.access.callers import Caller, TokenScope
from cuttlebone.errors import OperatorError
from cuttlebone.saving import make_private, save
from cuttlebone.text import printable

FILE_NAME: Final = "tokens.json"
FILE_BYTES_MAX: Final = 1 << 20
TOKENS_MAX: Final = 1_000
SECRET_BYTES: Final = 32
PREFIX: Final = "cuttlebone_"
"""Lets scanners for leaked secrets, and people, know what they have found."""

NAME_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]


class Token(BaseModel):
    """A token, without its secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    tenant: Name
    scopes: frozenset[TokenScope]
    created_at: datetime
    sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
    """Of the whole text of the token. 32 random bytes need no salt and no slow hash."""

    @property
    def caller(self) -> Caller:
        """Who comes with this token."""
        return Caller(self.name, self.tenant, self.scopes)


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    tokens: Annotated[tuple[Token, ...], Field(max_length=TOKENS_MAX)] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read, and of which file: a change makes another file under the name."""

    stamp: tuple[int, int, int]
    tokens: tuple[Token, ...]


class TokenFile:
    """The tokens of a state folder. Any thread of any process may use it.

    Invariants: the file is replaced as a whole, so a reader sees all of a change or nothing; one
    that others can read or write is not believed. Once there is a file, a token is needed, also
    when none is left in it: revoking the last one must not open the host to everybody.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._folder = folder
        self._read: _Read | None = None
        self._lock = threading.Lock()

    def tokens(self) -> tuple[Token, ...] | None:
        """All tokens; None where there never was one. Raises OperatorError."""
        with self._lock:
            try:
                found = self.path.stat()
            except FileNotFoundError:
                self._read = None
                return None
            except OSError as error:
                raise self._unusable(str(error.strerror)) from None
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._read is None or self._read.stamp != stamp:
                if found.st_mode & 0o077:
                    raise self._unusable(f"others may read it; run `chmod 600 {self.path}`")
                self._read = _Read(stamp, self._parsed())
            return self._read.tokens

    def find(self, secret: str) -> Token | None:
        """The token whose secret this is. Takes as long for one that is nearly right."""
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest().encode()
        found: Token | None = None
        for token in self.tokens() or ():
            if hmac.compare_digest(token.sha256.encode(), digest):
                found = token
        return found

    def add(self, name: str, *, tenant: str, scopes: frozenset[TokenScope]) -> str:
        """Make a token and return its secret, which is kept nowhere. Raises OperatorError."""
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        try:
            token = Token(
                name=name,
                tenant=tenant,
                scopes=scopes,
                created_at=datetime.now(UTC),
                sha256=hashlib.sha256(secret.encode()).hexdigest(),
            )
        except ValidationError as error:
            where = error.errors()[0]["loc"][0]
            raise OperatorError(
                f"the {where} of a token has 1 to 64 of `A-Z a-z 0-9 . _ -` and begins with a "
                "letter or digit"
            ) from None

        def change(before: tuple[Token, ...]) -> tuple[Token, ...]:
            if any(one.name == name for one in before):
                raise OperatorError(
                    f"there is a token {name} already; revoke it, or take another name"
                )
            if len(before) >= TOKENS_MAX:
                raise OperatorError(f"there are {TOKENS_MAX} tokens already; revoke one")
            return (*before, token)

        self._change(change)
        return secret

    def revoke(self, name: str) -> int:
        """Take a token back; return how many are left. Raises OperatorError if there is none so named."""

        def change(before: tuple[Token, ...]) -> tuple[Token, ...]:
            left = tuple(one for one in before if one.name != name)
            if len(left) == len(before):
                raise OperatorError(
                    f"there is no token {printable(name)} in {self.path}; "
                    "`cuttlebone token list` shows them"
                )
            return left

        return self._change(change)

    def _change(self, change: Callable[[tuple[Token, ...]], tuple[Token, ...]]) -> int:
        with self._locked():
            after = change(self.tokens() or ())
            self._write(_Document(tokens=after))
        return len(after)

    def _parsed(self) -> tuple[Token, ...]:
        try:
            with self.path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
            if len(data) > FILE_BYTES_MAX:
                raise self._unusable(f"it has more than {FILE_BYTES_MAX} bytes")
            return _Document.model_validate_json(data).tokens
        except OSError as error:
            raise self._unusable(str(error.strerror)) from None
        except ValidationError:
            raise self._unusable(
                "it is damaged; put a backup in its place, or move it away and make new tokens"
            ) from None

    def _write(self, document: _Document) -> None:
        try:
            save(self.path, document.model_dump_json(indent=1).encode(), mode=0o600)
        except OSError as error:
            raise self._unusable(str(error.strerror)) from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from changing the file; not the lock of the host, which may run."""
        try:
            make_private(self._folder)
            lock = os.open(
                self._folder / f"{FILE_NAME}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise self._unusable(str(error.strerror)) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _unusable(self, reason: str) -> OperatorError:
        return OperatorError(f"the file of tokens {self.path} cannot be used: {reason}")
