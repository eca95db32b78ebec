"""What one connection may take of a server, how many there may be, and who has a slot."""

import resource
from dataclasses import dataclass
from typing import Final

from cuttlebone.metrics import HostMetrics

CONNECTIONS_MAX: Final = 1_000
HEAD_S_MAX: Final = 5.0
KEEP_ALIVE_S: Final = 5
STALL_S_MAX: Final = 30.0
BYTES_PER_S_MIN: Final = 4096


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """How fast a client has to send a body and to take an answer."""

    stall_s: float = STALL_S_MAX
    """How long nothing may move while the host waits for the client."""
    bytes_per_s: int = BYTES_PER_S_MIN
    """What has to move on average once `stall_s` have been waited in all."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What connections may take. The defaults are documented; a test has less patience."""

    connections: int = CONNECTIONS_MAX
    """Connections that are served at once."""
    head_s: float = HEAD_S_MAX
    """From the first to the last byte of a head, and from a new connection to the end of its first."""
    keep_alive_s: int = KEEP_ALIVE_S
    """How long a connection is kept for the next request."""
    transfer: TransferLimits = TransferLimits()
    refusals: int = 100
    """Connections beyond `connections` that are refused in words; what comes beyond is cut."""
    linger_s: float = 1.0
    """How long one that was refused may take to read it."""
    compile_threads: int = 4
    """Threads for requests that may load, and so compile, blocks and specs."""


class ConnectionSlots:
    """The connections of one server, counted. Owner: its event loop.

    Invariants: no more than `served_max` are served at once, and no more than `refused_max` are
    being refused; each connection that acquired a slot of either kind releases it once.
    """

    def __init__(self, served_max: int, refused_max: int, metrics: HostMetrics) -> None:
        self._free = served_max
        self._refusals_free = refused_max
        self._metrics = metrics

    def acquire(self) -> bool:
        """Take a slot for a connection that is to be served, if there is one."""
        if self._free == 0:
            self._metrics.connection_refused()
            return False
        self._free -= 1
        self._metrics.connection_opened()
        return True

    def release(self) -> None:
        """A connection that was served has ended."""
        self._free += 1
        self._metrics.connection_closed()

    def acquire_refusal(self) -> bool:
        """Take a slot for a connection that is to be refused in words, if there is one."""
        if self._refusals_free == 0:
            return False
        self._refusals_free -= 1
        return True

    def release_refusal(self) -> None:
        """A connection that was refused has ended."""
        self._refusals_free += 1


def connections_possible(wanted: int) -> int:
    """How many of `wanted` connections a host can serve, with as many open files as it may have.

    Each connection is an open file, and so is what jobs read, the store and the models: half are
    left to these.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most // 2)


def raise_open_files() -> None:
    """Let this process open as many files as it may: it usually begins with far fewer."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
