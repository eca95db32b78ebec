"""What the rest of the host knows of a running guest: a protocol, its limits, what it used."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, Self

if TYPE_CHECKING:  # pydantic has no business in the process of a guest
    from cuttlebone.job_options import Limits

MEBIBYTE: Final = 1 << 20
STACK_BYTES_MAX: Final = MEBIBYTE
"""wasmtime aborts the process on a wasm stack over 2 MiB; half of that leaves room for its callers."""


@dataclass(frozen=True, slots=True)
class GuestLimits:
    """What one instance may use. The field names are those that a spec states under `limits`."""

    memory_bytes: int = 64 * MEBIBYTE
    """Linear memory."""
    command_bytes: int = MEBIBYTE
    """One payload that the guest returns."""
    stack_bytes: int = 512 << 10
    """Native stack of wasm code, at most STACK_BYTES_MAX."""
    fuel: int | None = None
    """Wasm operations over the whole job; None does not count them."""
    cpu_s: int = 3_600
    """Processor time of a guest process: a backstop for the wall clock that the caller keeps."""

    @classmethod
    def of(cls, limits: "Limits") -> Self:
        """What the limits of a job leave to its guest."""
        return cls(
            memory_bytes=limits.memory_bytes,
            command_bytes=limits.command_bytes,
            stack_bytes=limits.stack_bytes,
            fuel=limits.fuel,
        )

    def __post_init__(self) -> None:
        if min(self.memory_bytes, self.command_bytes, self.stack_bytes, self.cpu_s) < 1:
            raise ValueError(f"limits are at least 1: {self}")
        if self.stack_bytes > STACK_BYTES_MAX:
            raise ValueError(f"stack_bytes is {self.stack_bytes}, over {STACK_BYTES_MAX}")
        if self.fuel is not None and self.fuel < 1:
            raise ValueError(f"fuel is at least 1, or None: {self.fuel}")


@dataclass(frozen=True, slots=True)
class GuestAccounting:
    """What a guest has used so far. Kept after the guest is closed or dead."""

    guest_ms: float = 0.0
    """Time inside the guest, instantiation included."""
    memory_bytes_peak: int = 0
    steps: int = 0
    """Calls of `cf_init` and `cf_step` that were begun."""
    fuel: int | None = None
    """Fuel spent; None where it is not counted."""


class Guest(Protocol):
    """One run of a block. Owned by one job thread; `interrupt` alone may come from any thread.

    No code of the guest runs before `init`: whoever holds a guest can always interrupt it, and
    start function, `_initialize` and every export run under its limits. Each call may raise:

    - JobError `wasm_trap`: a trap, or an address, length or export that breaks the ABI;
    - JobError `limit_exceeded`: memory, fuel, stack or command, named with its value;
    - Interrupted: `interrupt` was called; whoever called it knows why.

    After any of them the guest is dead: every further call raises the same again.
    """

    @property
    def wants_tokens(self) -> bool:
        """Whether the block exports `cf_on_token`."""

    @property
    def accounting(self) -> GuestAccounting:
        """What has been used so far, at any time, also after the end."""

    def init(self, payload: bytes) -> bytes:
        """Instantiate, initialise, and call `cf_init` with the job's input; return the command's bytes."""

    def step(self, payload: bytes) -> bytes:
        """Call `cf_step` with one event; return the command's bytes."""

    def on_token(self, piece: bytes) -> int:
        """Call `cf_on_token` with one piece of text; 0 is continue, all else stop."""

    def interrupt(self) -> None:
        """Stop the running call, or else the next one. Harmless before, after, and when repeated."""

    def close(self) -> None:
        """Free everything. Called by the owner, never during a call; may be repeated."""
