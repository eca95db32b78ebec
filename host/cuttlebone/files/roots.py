"""One pattern of a spec resolved to a root that is held open and what it allows below it."""

import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from cuttlebone.errors import OperatorError
from cuttlebone.files.opening import PathOpener, open_path, real_path
from cuttlebone.files.paths import Components, UnusablePath, names_folder, resolve
from cuttlebone.files.patterns import (
    Everything,
    Extent,
    OneFile,
    Pattern,
    Wildcards,
    parse_pattern,
)
from cuttlebone.text import printable


@dataclass(frozen=True, slots=True)
class Grant:
    """A pattern whose root is open."""

    pattern: str
    root: Path
    root_fd: int
    names: frozenset[Components]
    """The paths by which a guest may call the root: as configured, and as it really is."""
    extent: Extent

    def locate(self, path: Components) -> Components | None:
        """Say which file below the root `path` means, or None if this grant does not cover it."""
        for name in self.names:
            if path[: len(name)] == name:
                located = self.extent.locate(path[len(name) :])
                if located is not None:
                    return located
        return None

    def locate_folder(self, path: Components) -> Components | None:
        """Say which folder below the root `path` means, or None if nothing in it can be granted."""
        for name in self.names:
            if path[: len(name)] == name and self.extent.leads_to(path[len(name) :]):
                return path[len(name) :]
        return None

    def concerns_folder(self, path: Components) -> bool:
        """Say whether it leads to a folder or is for something that lies directly in it."""
        beside = any(name and name[:-1] == path for name in self.names)
        return beside or self.locate_folder(path) is not None

    def open_below(self, relative: Components, opener: PathOpener) -> int:
        """Open what was located below the root, as an O_PATH descriptor; raise OSError."""
        return opener(self.root_fd, os.fsencode("/".join(relative) or "."))


def folder_components(base: Path) -> Components:
    """The folder of a spec, to which patterns are relative."""
    # After a link, `..` leads elsewhere by the text than by the kernel, which is right here.
    return resolve(str(base.resolve() if ".." in base.parts else base.absolute()), ())


def roots_named(base: Path, patterns: Sequence[str]) -> Sequence[Path]:
    """What the patterns of a spec in `base` would open, there or not; those with a fault are left out."""
    folder, roots = folder_components(base), []
    for pattern in patterns:
        with suppress(UnusablePath):
            roots.append(Path("/", *parse_pattern(pattern, folder).literal))
    return roots


def resolve_pattern(text: str, folder: Components, opened: ExitStack) -> Grant:
    """Open the root of a pattern, to be closed by `opened`; raise OperatorError.

    `folder` is that of the spec, to which the pattern is relative unless it is absolute.
    """
    try:
        return _open_root(text, parse_pattern(text, folder), opened)
    except UnusablePath as fault:
        raise _bad_pattern(text, str(fault)) from None
    except OSError as error:
        raise _bad_pattern(text, f"cannot open {error.filename}: {error.strerror}") from None


def _open_root(text: str, pattern: Pattern, opened: ExitStack) -> Grant:
    configured = "/" + "/".join(pattern.literal)
    fd = open_path(configured)
    opened.callback(os.close, fd)
    real = real_path(fd)
    names = frozenset({pattern.literal, resolve(str(real), ())})
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        extent = Wildcards.compile(pattern.wildcards) if pattern.wildcards else Everything()
        return Grant(text, real, fd, names, extent)
    if pattern.wildcards or names_folder(text):
        raise UnusablePath(f"{configured} is not a folder")
    if not stat.S_ISREG(mode):
        raise UnusablePath(f"{configured} is neither a folder nor a regular file")
    # The folder is held and not the file, so that saving by renaming leaves the grant intact.
    parent_fd = open_path(real.parent)
    opened.callback(os.close, parent_fd)
    return Grant(text, real.parent, parent_fd, names, OneFile(real.name))


def _bad_pattern(text: str, fault: str) -> OperatorError:
    return OperatorError(
        f"capabilities.read: pattern '{printable(text)}' cannot be granted: {fault}; "
        "correct the pattern, or create what it names"
    )
