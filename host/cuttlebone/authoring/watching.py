"""Waiting until somebody saves a file of a block."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Final

from watchfiles import Change, watch

from cuttlebone.authoring.folder import TOOL_FOLDERS
from cuttlebone.files.temporary import is_temporary

ANSWER_MS: Final = 300


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
        if is_temporary(path.name):
            return False
        inside = path.relative_to(self._folder).parts if path.is_relative_to(self._folder) else ()
        return not TOOL_FOLDERS.intersection(inside)


def changes(
    folder: Path, *, written: frozenset[Path] = frozenset(), stop: Event | None = None
) -> Iterator[list[Path]]:
    """Yield an empty list once it listens, then the files that were saved, batch by batch.

    What is saved while a batch is being worked on comes with the next one. Ends when `stop` is set;
    raises KeyboardInterrupt on Ctrl-C.
    """
    listening = False
    # The library begins to listen when it is first asked, so it has to answer though nothing happens.
    for batch in watch(
        folder,
        watch_filter=SourceFilter(folder, written),
        stop_event=stop,
        rust_timeout=ANSWER_MS,
        yield_on_timeout=True,
    ):
        if not listening:
            listening = True
            yield []
        if batch:
            yield sorted({Path(name) for _, name in batch})
