"""What the host asks of a zygote: one process, what it runs, and its limits."""

from dataclasses import dataclass
from struct import Struct
from typing import Final, Self

from cuttlebone.locked_process.lockdown import ProcessLimits

MESSAGE_BYTES_MAX: Final = 4096
_HEADER: Final = Struct("<dQQ?B")


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """One process. Travels beside the descriptors of its socket, its content and its status socket."""

    program: str
    """Module of one of the programs that the zygote has loaded."""
    limits: ProcessLimits
    arguments: bytes = b""
    """For the program alone; small."""
    lowers_priority: bool = True
    """Whether its priority is lowered once it has computed for long."""

    def pack(self) -> bytes:
        """The message to the zygote."""
        limits, name = self.limits, self.program.encode()
        header = _HEADER.pack(
            limits.cpu_s, limits.data_bytes, limits.reserved_bytes, self.lowers_priority, len(name)
        )
        message = header + name + self.arguments
        if len(message) > MESSAGE_BYTES_MAX:
            raise ValueError(f"a spawn request of {len(message)} bytes, over {MESSAGE_BYTES_MAX}")
        return message

    @classmethod
    def unpack(cls, message: bytes) -> Self:
        """Inverse of `pack`, for a message of our own host."""
        *limits, lowers_priority, name_bytes = _HEADER.unpack_from(message)
        name, end = message[_HEADER.size :], _HEADER.size + name_bytes
        return cls(
            program=name[:name_bytes].decode(),
            limits=ProcessLimits(*limits),
            arguments=message[end:],
            lowers_priority=lowers_priority,
        )
