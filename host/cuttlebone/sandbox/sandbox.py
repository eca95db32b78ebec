"""The one door to the sandbox: admit modules, open guests."""

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from cuttlebone.errors import JobError
from cuttlebone.sandbox.admission import admissible_shape, block_of, digest_of
from cuttlebone.sandbox.block import Block
from cuttlebone.sandbox.cache import ArtefactCache
from cuttlebone.sandbox.compiler import Compiler
from cuttlebone.sandbox.guest import Guest, GuestLimits
from cuttlebone.sandbox.thread_guest import ThreadGuest
from cuttlebone_abi import ErrorCode


class Sandbox:
    """Holds the admitted modules. Owned by the assembly; every method may come from any thread.

    Invariant: `_blocks` and `_wasm` have the same keys and only grow; `_lock` guards both.
    """

    def __init__(self, cache: Path | None = None) -> None:
        """Keep compiled modules in the folder `cache`, or in memory alone; raise OperatorError."""
        self._compiler = Compiler(None if cache is None else ArtefactCache(cache))
        self._lock = threading.Lock()
        self._blocks: dict[str, Block] = {}
        self._wasm: dict[str, bytes] = {}

    def admit(self, wasm: bytes) -> Block:
        """Check, compile and probe a module; raise BlockRefused that names every fault.

        The same bytes are admitted once; the second time costs a hash.
        """
        digest = digest_of(wasm)
        with self._lock:
            if digest in self._blocks:
                return self._blocks[digest]
        shape = admissible_shape(wasm)
        block = block_of(wasm, shape, self._compiler.artefact(digest, wasm, metered=False))
        with self._lock:
            self._wasm[digest] = wasm
            return self._blocks.setdefault(digest, block)

    def open_guest(self, block: Block, limits: GuestLimits) -> Guest:
        """A guest that runs `block` once. Returns before any code of it runs: see `Guest.init`.

        Raises JobError `limit_exceeded` where the block's smallest memory is over the limit.
        """
        if block.memory_bytes_min > limits.memory_bytes:
            raise JobError(
                ErrorCode.LIMIT_EXCEEDED,
                f"the block needs {block.memory_bytes_min} bytes of memory to start, over "
                f"memory_bytes of {limits.memory_bytes}; raise limits.memory_bytes",
            )
        with self._lock:
            wasm = self._wasm[block.digest]

        def artefact() -> bytes:
            return self._compiler.artefact(block.digest, wasm, metered=limits.fuel is not None)

        return ThreadGuest(artefact, limits, wants_tokens=block.wants_tokens)

    def close(self) -> None:
        """Free what the sandbox holds. Guests that are still open stay usable by their owners."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
