"""The blocks that were uploaded to a host: files under their digests, admitted before they are kept."""

import errno
import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import structlog

from cuttlebone.errors import (
    BlockRefused,
    CallerError,
    FieldFault,
    OperatorError,
    ProblemCode,
    StoreUnavailable,
)
from cuttlebone.sandbox import Block
from cuttlebone.saving import UNFINISHED, give_name, make_private, sync_folder, unnamed
from cuttlebone.text import printable
from cuttlebone_abi import Signature

BLOCK_BYTES_MAX: Final = 16 << 20
BLOCKS_MAX: Final = 1_000
DIGEST_PREFIX: Final = "sha256:"

Admit = Callable[[bytes], Block]

_HEX: Final = re.compile("[0-9a-f]{64}")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """What is shown of a block. Without its bytes: a thousand blocks may be known."""

    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    size_bytes: int
    abi_version: int
    signature: Signature


def summary_of(block: Block) -> BlockSummary:
    """Leave out the bytes of a block."""
    return BlockSummary(block.digest, block.size_bytes, block.abi_version, block.signature)


class BlockRegistry:
    """Keeps uploaded blocks in a folder that this host alone writes to. Any thread may use it.

    Invariants: a file under its digest is whole, has that digest and was admitted; it never
    changes until it is forgotten. What an upload leaves behind when the host dies is removed at
    the next start.
    """

    def __init__(self, folder: Path, admit: Admit, *, blocks_max: int = BLOCKS_MAX) -> None:
        """Open the folder, or make it; raise OperatorError."""
        self._folder = folder
        self._admit = admit
        self._blocks_max = blocks_max
        self._summaries: dict[str, BlockSummary] = {}
        self._lock = threading.Lock()
        try:
            make_private(folder)
            for left in folder.glob(f"*{UNFINISHED}"):
                left.unlink()
        except OSError as error:
            raise OperatorError(
                f"the folder of blocks {folder} cannot be used: {error.strerror}"
            ) from None

    def path(self, digest: str) -> Path:
        """Where the block of `sha256:<hex>` is, or would be; raise OperatorError for another form."""
        return self._folder / f"{_digits(digest)}.wasm"

    @contextmanager
    def upload(self, digits: str) -> Iterator["Upload"]:
        """Take in a block that has to have the SHA-256 `digits`, while the body runs.

        Raises StoreUnavailable if there is no room for it.
        """
        with ExitStack() as stack:
            with _storing():
                file = stack.enter_context(unnamed(self._folder))
            yield Upload(self, file, digits)

    def keep(self, file: IO[bytes], digits: str) -> tuple[BlockSummary, bool]:
        """Admit a file that has the stated digest, and keep it; tell whether it is new.

        Raises CallerError `block_refused`, and StoreUnavailable.
        """
        final = self._folder / f"{digits}.wasm"
        summary = self._admitted(Path(file.name))
        with self._lock, _storing():
            new = not final.exists()
            if new and sum(1 for _ in self._folder.glob("*.wasm")) >= self._blocks_max:
                raise StoreUnavailable(f"{self._blocks_max} blocks are kept already")
            give_name(file, final)
            self._summaries[digits] = summary
        return summary, new

    def find(self, digits: str) -> BlockSummary | None:
        """Show the block with that SHA-256, if it was uploaded."""
        if _HEX.fullmatch(digits) is None:
            return None
        with self._lock:
            known = self._summaries.get(digits)
        return known or self._read(digits)

    def forget(self, digits: str) -> bool:
        """Remove a block; tell whether it was there. Raises StoreUnavailable."""
        if _HEX.fullmatch(digits) is None:
            return False
        with self._lock, _storing():
            try:
                (self._folder / f"{digits}.wasm").unlink()
            except FileNotFoundError:
                return False
            sync_folder(self._folder)
            self._summaries.pop(digits, None)
        return True

    def all(self) -> list[BlockSummary]:
        """Show the blocks that were uploaded, by digest."""
        names = sorted(path.stem for path in self._folder.glob("*.wasm"))
        return [found for found in map(self.find, names) if found is not None]

    def _read(self, digits: str) -> BlockSummary | None:
        path = self._folder / f"{digits}.wasm"
        try:
            summary = self._admitted(path)
        except FileNotFoundError:
            return None
        except (OSError, CallerError) as error:
            _log.error("a block that was kept cannot be used", file=str(path), reason=str(error))
            return None
        if summary.digest != DIGEST_PREFIX + digits:
            _log.error("a block that was kept has changed", file=str(path), digest=summary.digest)
            return None
        with self._lock:
            return self._summaries.setdefault(digits, summary)

    def _admitted(self, path: Path) -> BlockSummary:
        try:
            return summary_of(self._admit(path.read_bytes()))
        except BlockRefused as error:
            raise CallerError(
                ProblemCode.BLOCK_REFUSED,
                f"this is no usable block: {error}",
                faults=tuple(FieldFault("", str(fault)) for fault in error.faults),
            ) from None


class Upload:
    """A block on its way in. Owner: the request that brings it."""

    def __init__(self, registry: BlockRegistry, file: IO[bytes], digits: str) -> None:
        self._registry = registry
        self._file = file
        self._digits = digits
        self._hash = hashlib.sha256()
        self._received = 0

    def write(self, part: bytes) -> None:
        """Take the next bytes; raise CallerError `body_too_large`, and StoreUnavailable."""
        self._received += len(part)
        if self._received > BLOCK_BYTES_MAX:
            raise too_large()
        self._hash.update(part)
        with _storing():
            self._file.write(part)

    def finish(self) -> tuple[BlockSummary, bool]:
        """Check, admit and keep what came; tell whether it is new.

        Raises CallerError `digest_mismatch` or `block_refused`, and StoreUnavailable.
        """
        found = self._hash.hexdigest()
        if found != self._digits:
            raise CallerError(
                ProblemCode.DIGEST_MISMATCH,
                f"the {self._received} bytes that came have the SHA-256 {found}; "
                "send the file whose digest stands in the path",
            )
        with _storing():
            self._file.flush()
        return self._registry.keep(self._file, self._digits)


def too_large() -> CallerError:
    """The refusal of a block that is longer than any may be."""
    return CallerError(
        ProblemCode.BODY_TOO_LARGE,
        f"a block has at most {BLOCK_BYTES_MAX} bytes; strip debug sections and unused code",
    )


def unknown_block(digits: str) -> CallerError:
    """The refusal of a digest that no block has."""
    return CallerError(
        ProblemCode.UNKNOWN_BLOCK,
        f"no block has the SHA-256 {printable(digits, chars_max=64)!r}; GET /v1/blocks lists them",
    )


def block_in_use(digits: str, specs: Sequence[str], *, uploaded: bool) -> CallerError:
    """The refusal to forget a block that `specs` name."""
    names = ", ".join(f"`{printable(name)}`" for name in specs)
    advice = (
        "let them name another block first"
        if uploaded
        else "it was never uploaded, but is a file that they name: the operator of this host has it"
    )
    return CallerError(
        ProblemCode.BLOCK_IN_USE, f"the block {printable(digits)} is used by {names}; {advice}"
    )


def _digits(digest: str) -> str:
    digits = digest.removeprefix(DIGEST_PREFIX)
    if _HEX.fullmatch(digits) is None:
        raise OperatorError(
            f"a block by digest is `{DIGEST_PREFIX}` and 64 lower-case hexadecimal digits"
        )
    return digits


@contextmanager
def _storing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            error.strerror or errno.errorcode.get(error.errno or 0, "")
        ) from None
