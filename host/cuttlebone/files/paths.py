"""Paths as text: the rules that a guest's path must keep, before any system call sees it."""

import re
from typing import Final, TypeAlias

from cuttlebone.errors import CommandError
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

PATH_BYTES_MAX: Final = 4096
COMPONENT_BYTES_MAX: Final = 255

Components: TypeAlias = tuple[str, ...]
"""An absolute path without `.`, `..` and empty components; the root folder is `()`."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class UnusablePath(ValueError):
    """A text that is no path here; the message says why."""


def parse_path(path: str, folder: Components) -> Components:
    """Read a guest's path, which is relative to `folder` unless it is absolute.

    Names are compared as given: no case folding, no normalisation. Raises CommandError.
    """
    try:
        check_text(path)
    except UnusablePath as fault:
        raise CommandError(
            ErrorCode.CAPABILITY_DENIED, f"'{printable(path)}' is no usable path: {fault}"
        ) from None
    return resolve(path, folder)


def check_text(path: str) -> None:
    """Raise UnusablePath for a length out of bounds, control characters and unpaired surrogates."""
    try:
        data = path.encode()
    except UnicodeEncodeError:
        raise UnusablePath("it is not valid UTF-8") from None
    if not 1 <= len(data) <= PATH_BYTES_MAX:
        raise UnusablePath(f"it has {len(data)} bytes; allowed are 1 to {PATH_BYTES_MAX}")
    if control := _CONTROL.search(path):
        raise UnusablePath(f"it has a control character, U+{ord(control.group()):04X}")
    longest = max(map(len, data.split(b"/")))
    if longest > COMPONENT_BYTES_MAX:
        raise UnusablePath(f"a component has {longest} bytes; at most {COMPONENT_BYTES_MAX} go")


def names_folder(path: str) -> bool:
    """Whether its text says that it is a folder: it ends in a slash, or goes to one by dots."""
    return path.rpartition("/")[2] in {"", ".", ".."}


def resolve(path: str, folder: Components) -> Components:
    """Resolve `.`, `..` and doubled slashes by the text alone.

    Not by the file system, where `a/..` need not be where it started once `a` is a link: a grant
    is a statement about names, and so must be what is compared with it.
    """
    resolved = [] if path.startswith("/") else list(folder)
    for component in path.split("/"):
        match component:
            case "" | ".":
                pass
            case "..":
                del resolved[-1:]
            case _:
                resolved.append(component)
    return tuple(resolved)
