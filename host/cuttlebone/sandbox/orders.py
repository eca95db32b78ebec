"""What the host orders from the zygote: one process, with its limits."""

from typing import Final

from pydantic import BaseModel, ConfigDict

from cuttlebone.sandbox.engine import MEMORY_GUARD_BYTES, MEMORY_RESERVATION_BYTES
from cuttlebone.sandbox.guest import MEBIBYTE, GuestLimits
from cuttlebone.sandbox.lockdown import ProcessLimits

# What Python and wasmtime themselves allocate beside the guest's memory.
_OWN_DATA_BYTES: Final = 64 * MEBIBYTE
_OWN_RESERVED_BYTES: Final = MEMORY_RESERVATION_BYTES + 4 * MEMORY_GUARD_BYTES + 512 * MEBIBYTE


class Order(BaseModel):
    """One process. Travels as JSON, beside the descriptors of socket, module and status socket."""

    model_config = ConfigDict(frozen=True)

    memory_bytes: int
    command_bytes: int
    stack_bytes: int
    fuel: int | None
    cpu_s: int
    data_bytes: int
    """Memory besides that of the guest."""
    gives_way: bool
    """Whether its priority is lowered once it has computed for long."""

    @classmethod
    def for_guest(cls, limits: GuestLimits, module_bytes: int) -> "Order":
        """A process that runs one guest; `module_bytes` is the size of its compiled module."""
        return cls(
            memory_bytes=limits.memory_bytes,
            command_bytes=limits.command_bytes,
            stack_bytes=limits.stack_bytes,
            fuel=limits.fuel,
            cpu_s=limits.cpu_s,
            # A payload is held a few times over, and so is the module while it is loaded.
            data_bytes=_OWN_DATA_BYTES + 4 * limits.command_bytes + 4 * module_bytes,
            gives_way=True,
        )

    @classmethod
    def for_compiling(cls, *, cpu_s: int, data_bytes: int) -> "Order":
        """A process that compiles one module."""
        limits = GuestLimits()
        return cls(
            memory_bytes=0,
            command_bytes=limits.command_bytes,
            stack_bytes=limits.stack_bytes,
            fuel=None,
            cpu_s=cpu_s,
            data_bytes=data_bytes,
            gives_way=False,
        )

    def guest_limits(self) -> GuestLimits:
        """What the instance in the process may use."""
        return GuestLimits(
            memory_bytes=self.memory_bytes,
            command_bytes=self.command_bytes,
            stack_bytes=self.stack_bytes,
            fuel=self.fuel,
        )

    def process_limits(self) -> ProcessLimits:
        """What the kernel lets the process use."""
        return ProcessLimits(
            cpu_s=self.cpu_s,
            data_bytes=self.memory_bytes + self.data_bytes,
            reserved_bytes=_OWN_RESERVED_BYTES,
        )
