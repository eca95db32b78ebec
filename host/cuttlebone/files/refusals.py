"""What the kernel said when a granted file could not be opened, as an error for the guest."""

import errno
import resource

from cuttlebone.errors import CommandError
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode


def refusal(error: OSError, path: str) -> CommandError:
    """Translate `error`; raise it again if it is a fault of the machine and no answer to a guest."""
    shown = quoted(path)
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG:
            return CommandError(ErrorCode.NOT_FOUND, f"there is no file {shown}")
        case errno.ELOOP:
            return denied(
                f"{shown} leads through a symbolic link that may not be followed; grant the folder "
                "that it points to, or set follow_symlinks if that is below the granted one"
            )
        case errno.EXDEV:
            return denied(
                f"{shown} leads out of the granted folder or onto another file system; "
                "grant the folder that it lies in"
            )
        case errno.EACCES | errno.EPERM:
            return denied(f"{shown} is granted, but the host's own user may not read it")
        case errno.EAGAIN:
            return denied(f"{shown} is being moved or locked by another program; try again")
        case errno.EMFILE | errno.ENFILE:
            return CommandError(ErrorCode.LIMIT_EXCEEDED, _no_descriptors(error.errno))
        case _:
            raise error


def quoted(path: str) -> str:
    """Write a guest's path so that it is safe to show."""
    return f"'{printable(path)}'"


def denied(message: str) -> CommandError:
    """Make a `capability_denied`."""
    return CommandError(ErrorCode.CAPABILITY_DENIED, message)


def _no_descriptors(code: int) -> str:
    if code == errno.ENFILE:
        return "the machine has no file descriptor left (fs.file-max); close files or raise it"
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"the host has no file descriptor left: RLIMIT_NOFILE is {limit}; "
        "close files, or start the host with a higher limit (ulimit -n)"
    )
