"""What the host orders from the zygote: one process, with its limits."""

from typing import Final

from pydantic import BaseModel, ConfigDict

from cuttlebone.sandbox.engine import MEMORY_GUARD_BYTES, MEMORY_RESERVATION_BYTES
from cuttlebone.sandbox.guest import MEBIBYTE, GuestLimits
from cuttlebone.sandbox.lockdown import ProcessLimits

# What Python and wasmtime themselves allocate beside the guest's memory.
_OWN_DATA_BYTES: Final = 64 * MEBIBYTE
_OWN_RESERVED_BYTES: Final = MEMORY_RESERVATION_BYTES + 4 * MEMORY_GUARD_BYTES + 512 * MEBIBYTE


class SpawnRequest(BaseModel):
    """One process. Travels as JSON, beside the descriptors of socket, module and status socket."""

    model_config = ConfigDict(frozen=True)

    limits: GuestLimits
    """What the instance in the process may use."""
    data_bytes: int
    """Private memory of the process, that of the guest included."""
    lowers_priority: bool
    """Whether its priority is lowered once it has computed for long."""

    @classmethod
    def for_guest(cls, limits: GuestLimits, module_bytes: int) -> "SpawnRequest":
        """A process that runs one guest; `module_bytes` is the size of its compiled module."""
        return cls(
            limits=limits,
            # A payload is held a few times over, and so is the module while it is loaded.
            data_bytes=limits.memory_bytes
            + _OWN_DATA_BYTES
            + 4 * limits.command_bytes
            + 4 * module_bytes,
            lowers_priority=True,
        )

    @classmethod
    def for_compiling(cls, *, cpu_s: int, data_bytes: int) -> "SpawnRequest":
        """A process that compiles one module, and runs no guest."""
        return cls(limits=GuestLimits(cpu_s=cpu_s), data_bytes=data_bytes, lowers_priority=False)

    def process_limits(self) -> ProcessLimits:
        """What the kernel lets the process use."""
        return ProcessLimits(
            cpu_s=self.limits.cpu_s,
            data_bytes=self.data_bytes,
            reserved_bytes=_OWN_RESERVED_BYTES,
        )
