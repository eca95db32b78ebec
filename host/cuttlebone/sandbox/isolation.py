"""Where guests run, and what that means."""

from enum import StrEnum


class Isolation(StrEnum):
    """How far a guest is kept from the host."""

    PROCESS = "process"
    """A process for each job, behind every layer that the kernel offers."""
    THREAD = "thread"
    """The thread of the job: wasm alone stands between guest and host. For blocks that one trusts."""
    REQUIRE = "require"
    """As `process`, and the host does not start where a layer is missing."""
