"""Guests that are Python scripts."""

import hashlib
import threading
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, TypeAlias

from cuttlebone.errors import BlockRefused, Fault, FaultKind, Interrupted
from cuttlebone.sandbox import Block, GuestAccounting, GuestLimits, Layer
from cuttlebone_abi import Json, Signature, dump_json, load_json

Commands: TypeAlias = Generator[Json | bytes, dict[str, Any], None]
"""Yields commands, dictionaries with `cmd`, and is sent the events; bytes can say what no JSON can."""

Script: TypeAlias = Callable[["ScriptedGuest", Json], Commands]
"""A guest: takes the input of the job."""

_INTERRUPT_WAIT_S: Final = 30.0


class ScriptedGuest:
    """A guest that runs a Python script. Owner: its job thread; `interrupt` from any thread."""

    def __init__(self, script: Script, *, on_token: Callable[[str], bool] | None = None) -> None:
        """`on_token` says whether to stop after a piece; None is a block without `cf_on_token`."""
        self._script = script
        self._on_token = on_token
        self._interrupted = threading.Event()
        self._commands: Commands | None = None
        self._steps = 0
        self.closed = False

    @property
    def wants_tokens(self) -> bool:
        """Whether it was given an `on_token`."""
        return self._on_token is not None

    @property
    def accounting(self) -> GuestAccounting:
        """Only the steps are real."""
        return GuestAccounting(steps=self._steps)

    def init(self, payload: bytes) -> bytes:
        """Start the script; return its first command."""
        self._commands = self._script(self, load_json(payload))
        return self._advance(None)

    def step(self, payload: bytes) -> bytes:
        """Send an event in; return the next command."""
        return self._advance(load_json(payload))

    def on_token(self, piece: bytes) -> int:
        """Ask `on_token`."""
        self._check()
        if self._on_token is None:
            raise AssertionError("asked for a verdict without cf_on_token")
        return int(self._on_token(piece.decode()))

    def interrupt(self) -> None:
        """Make the running call, or the next one, raise Interrupted."""
        self._interrupted.set()

    def close(self) -> None:
        """End the script."""
        if self._commands is not None:
            self._commands.close()
        self.closed = True

    def spin(self) -> None:
        """Behave like an endless loop: return only by Interrupted."""
        if not self._interrupted.wait(_INTERRUPT_WAIT_S):
            raise AssertionError("nobody interrupted an endless loop")
        self._check()

    def _advance(self, event: dict[str, Any] | None) -> bytes:
        self._check()
        if self._commands is None:
            raise AssertionError("stepped before init")
        self._steps += 1
        command = next(self._commands) if event is None else self._commands.send(event)
        self._check()
        return command if isinstance(command, bytes) else dump_json(command)

    def _check(self) -> None:
        if self._interrupted.is_set():
            raise Interrupted("interrupted")


class ScriptedSandbox:
    """A sandbox whose modules are the names of scripts: the file `b"echo"` runs the script `echo`."""

    def __init__(
        self,
        scripts: Mapping[str, Script],
        *,
        on_token: Callable[[str], bool] | None = None,
        signature: Signature | None = None,
    ) -> None:
        self._scripts = scripts
        self._on_token = on_token
        self._signature = signature or Signature()
        self._names: dict[str, str] = {}

    @property
    def layers(self) -> Mapping[Layer, str | None]:
        """A script is part of the host."""
        return dict.fromkeys(Layer, "guests are scripts")

    @property
    def cache_damaged(self) -> int:
        """Nothing is compiled, and nothing kept."""
        return 0

    def admit(self, wasm: bytes) -> Block:
        """Admit the name of a known script."""
        name = wasm.decode(errors="replace").strip()
        if name not in self._scripts:
            fault = Fault(FaultKind.NOT_WASM, name, f"no script is named {name!r}")
            raise BlockRefused((fault,))
        digest = f"sha256:{hashlib.sha256(wasm).hexdigest()}"
        self._names[digest] = name
        return Block(
            digest=digest, size_bytes=len(wasm), memory_bytes_min=0, signature=self._signature
        )

    def open_guest(self, block: Block, limits: GuestLimits) -> ScriptedGuest:  # noqa: ARG002  # scripts have no memory to limit
        """Open a guest that runs the script of `block`."""
        return ScriptedGuest(self._scripts[self._names[block.digest]], on_token=self._on_token)
