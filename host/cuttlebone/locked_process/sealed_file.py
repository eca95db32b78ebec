"""Content in memory that no process can change any more, to be given to locked processes."""

import fcntl
import os


def sealed_file(content: bytes) -> int:
    """A memory file with this content that nobody can change any more; the caller closes it."""
    descriptor = os.memfd_create("cuttlebone", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
