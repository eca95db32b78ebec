"""Waiting until somebody saves a file of a block."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Final

from watchfiles import Change, watch

IGNORED_FOLDERS: Final = frozenset(
    {"target", "node_modules", ".zig-cache", "zig-out", ".git", "build", "__pycache__"}
)
"""Where toolchains write."""


class SourceFilter:
    """Lets the files through that a person saves. Immutable."""

    def __init__(self, folder: Path, written: frozenset[Path]) -> None:
        """`written` are files that a build or a run writes itself."""
        self._folder = folder.resolve()
        self._written = frozenset(path.resolve() for path in written)

    def __call__(self, _change: Change, name: str) -> bool:
        """Tell whether a change of this file matters."""
        path = Path(name)
        # Linkers write beside the module, under its name with something behind it.
        if any(
            path.parent == one.parent and path.name.startswith(one.name) for one in self._written
        ):
            return False
        if path.name.startswith(".") or path.name.endswith("~"):
            return False
        inside = path.relative_to(self._folder).parts if path.is_relative_to(self._folder) else ()
        return not IGNORED_FOLDERS.intersection(inside)


def changes(
    folder: Path, *, written: frozenset[Path] = frozenset(), stop: Event | None = None
) -> Iterator[list[Path]]:
    """Yield the files that were saved, once for each batch; end when `stop` is set.

    Raises KeyboardInterrupt on Ctrl-C.
    """
    # Files that are saved while a batch is being worked on come with the next one.
    for batch in watch(folder, watch_filter=SourceFilter(folder, written), stop_event=stop):
        yield sorted(Path(name) for _, name in batch)
