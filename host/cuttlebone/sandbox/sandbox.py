"""The one door to the sandbox: admit modules, open guests."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Self

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.locked_process.lockdown import Layer
from cuttlebone.sandbox import compile_program, guest_program
from cuttlebone.sandbox.admission import (
    PROBE_LIMITS,
    PROBE_S_MAX,
    admissible_shape,
    block_of,
    digest_of,
)
from cuttlebone.sandbox.artefact import Artefact
from cuttlebone.sandbox.block import Block
from cuttlebone.sandbox.cache import ArtefactCache
from cuttlebone.sandbox.compiler import CompileLimits, Compiler
from cuttlebone.sandbox.deferred_guest import DeferredGuest
from cuttlebone.sandbox.guest import Guest, GuestLimits
from cuttlebone.sandbox.guest_process import GuestProcess
from cuttlebone.sandbox.instance import Instance
from cuttlebone.sandbox.traps import exceeded
from cuttlebone.settings import Isolation

BLOCKS_KEPT_MAX: Final = 256

# One zygote for both: they share wasmtime, which is nearly all that it holds.
_PROGRAMS: Final = (guest_program.__name__, compile_program.__name__)

_log = structlog.get_logger(__name__)


class Sandbox:
    """Holds the admitted modules. Owned by the assembly; every method may come from any thread.

    Invariant: `_blocks` has at most BLOCKS_KEPT_MAX of them, guarded by `_lock`. A block works whether
    or not it is still among them.
    """

    def __init__(
        self,
        cache: Path | None = None,
        *,
        isolation: Isolation = Isolation.PROCESS,
        compile_limits: CompileLimits | None = None,
        probe_s_max: float = PROBE_S_MAX,
    ) -> None:
        """Keep compiled modules in the folder `cache`, or in memory alone.

        Raises OperatorError where the cache cannot be used, or where this machine cannot isolate
        guests as `isolation` demands.
        """
        # Thread mode compiles in a process of its own as well, where there can be one.
        self._fork_server = ForkServer(_PROGRAMS) if sys.platform == "linux" else None
        self._isolated = isolation is not Isolation.THREAD
        if self._isolated:
            self._demand(isolation)
        self._probe_s_max = probe_s_max
        self._cache = None if cache is None else ArtefactCache(cache)
        self._compiler = Compiler(self._cache, self._fork_server, compile_limits or CompileLimits())
        self._lock = threading.Lock()
        self._blocks: OrderedDict[str, Block] = OrderedDict()

    @property
    def layers(self) -> Mapping[Layer, str | None]:
        """Each layer around a guest: None where it holds, else why it does not."""
        if self._fork_server is None or not self._isolated:
            return dict.fromkeys(Layer, "guests run in threads")
        return self._fork_server.layers()

    @property
    def cache_damaged(self) -> int:
        """How many compiled modules on disk were found damaged, and compiled again."""
        return 0 if self._cache is None else self._cache.damaged

    def admit(self, wasm: bytes) -> Block:
        """Check, compile and probe a module; raise BlockRefused that names every fault.

        The same bytes again cost a hash, unless many others have been admitted since.
        """
        digest = digest_of(wasm)
        with self._lock:
            if digest in self._blocks:
                self._blocks.move_to_end(digest)
                return self._blocks[digest]
        shape = admissible_shape(wasm)
        artefact = self._compiler.artefact(digest, wasm, metered=False, stopped=lambda: False)
        block = block_of(
            wasm,
            shape,
            self._guest(artefact, PROBE_LIMITS, wants_tokens="cf_on_token" in shape.exports),
            probe_s_max=self._probe_s_max,
        )
        with self._lock:
            block = self._blocks.setdefault(digest, block)
            while len(self._blocks) > BLOCKS_KEPT_MAX:
                self._blocks.popitem(last=False)
        return block

    def compile(self, wasm: bytes) -> Artefact:
        """Validate and compile a module, block or not; raise BlockRefused."""
        return self._compiler.artefact(digest_of(wasm), wasm, metered=False, stopped=lambda: False)

    def open_guest(self, block: Block, limits: GuestLimits) -> Guest:
        """A guest that runs `block` once. Returns before any code of it runs: see `Guest.init`.

        Raises JobError `limit_exceeded` where the block's smallest memory is over the limit.
        """
        if block.memory_bytes_min > limits.memory_bytes:
            needed = f"the block needs {block.memory_bytes_min} to start"
            raise exceeded("memory_bytes", f"{needed}, but may have {limits.memory_bytes}")

        def open_guest(stopped: Callable[[], bool]) -> Guest:
            metered = limits.fuel is not None
            artefact = self._compiler.artefact(
                block.digest, block.wasm, metered=metered, stopped=stopped
            )
            return self._guest(artefact, limits, stopped, wants_tokens=block.wants_tokens)

        return DeferredGuest(open_guest, wants_tokens=block.wants_tokens)

    def close(self) -> None:
        """End the zygote and with it every guest process that is still there."""
        if self._fork_server is not None:
            self._fork_server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guest(
        self,
        artefact: Artefact,
        limits: GuestLimits,
        stopped: Callable[[], bool] | None = None,
        *,
        wants_tokens: bool,
    ) -> Instance | GuestProcess:
        if self._isolated and self._fork_server is not None:
            spawn = partial(self._fork_server.spawn, stopped=stopped)
            return GuestProcess(spawn, artefact, limits, wants_tokens=wants_tokens)
        return Instance(artefact.code, limits, wants_tokens=wants_tokens)

    def _demand(self, isolation: Isolation) -> None:
        if self._fork_server is None:
            raise OperatorError(
                f"guest processes need Linux, and this is {sys.platform}; set `isolation: thread` "
                "to run trusted blocks without them"
            )
        try:
            demand_layers(self._fork_server.layers(), isolation)
        except OperatorError:
            self._fork_server.close()
            raise


def demand_layers(layers: Mapping[Layer, str | None], isolation: Isolation) -> None:
    """Log what is missing; raise OperatorError if `isolation` requires that nothing is."""
    missing = {str(layer): why for layer, why in layers.items() if why is not None}
    if not missing:
        return
    if isolation is Isolation.REQUIRE:
        told = "; ".join(f"{layer}: {why}" for layer, why in missing.items())
        raise OperatorError(
            f"`isolation: require`, but this machine lacks {told}; use a newer kernel, or "
            "`isolation: process` to run with the layers that there are"
        )
    _log.warning("guests run without some of their layers", **missing)
