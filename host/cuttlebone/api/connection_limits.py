"""What one connection may take of a server, how many there may be, and who still has a place."""

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
class Pace:
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
    pace: Pace = Pace()
    turned_away: int = 100
    """Connections beyond `connections` that are told so at once; what comes beyond is cut."""
    linger_s: float = 1.0
    """How long one that was told so may take to read it."""
    loading: int = 4
    """Threads for requests that may load, and so compile, blocks and specs."""


class ConnectionSlots:
    """The connections of one server, counted. Owner: its event loop.

    Invariants: no more than `places` are taken, no more than `told` are being turned away; each
    connection that was let in or told gives its place back once.
    """

    def __init__(self, places: int, told: int, metrics: HostMetrics) -> None:
        self._places_left = places
        self._told_left = told
        self._metrics = metrics

    def take(self) -> bool:
        """Take a place for a connection to be served, if there is one."""
        if self._places_left == 0:
            self._metrics.connection_refused()
            return False
        self._places_left -= 1
        self._metrics.connection_opened()
        return True

    def give_back(self) -> None:
        """A connection that was served has ended."""
        self._places_left += 1
        self._metrics.connection_closed()

    def take_told(self) -> bool:
        """Take a place for a connection to be told that it cannot be served, if there is one."""
        if self._told_left == 0:
            return False
        self._told_left -= 1
        return True

    def give_back_told(self) -> None:
        """A connection that was told so has ended."""
        self._told_left += 1


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
