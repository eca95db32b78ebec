"""How much memory this machine can give, by what its kernel says."""

from pathlib import Path
from typing import Final

PROC: Final = Path("/proc/meminfo")
CGROUP: Final = Path("/sys/fs/cgroup")
_UNKNOWN_BYTES: Final = 4 << 30
"""Where the kernel does not say."""


def available_bytes(*, meminfo: Path = PROC, cgroup: Path = CGROUP) -> int:
    """Bytes that programs can have without others being put out, also within a container's bound."""
    free = [bytes_ for bytes_ in (_of_machine(meminfo), _of_cgroup(cgroup)) if bytes_ is not None]
    return min(free, default=_UNKNOWN_BYTES)


def _of_machine(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    found = (line.split() for line in lines)
    return next((int(words[1]) << 10 for words in found if words[0] == "MemAvailable:"), None)


def _of_cgroup(folder: Path) -> int | None:
    try:
        bound = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if bound == "max" else max(0, int(bound) - used)
