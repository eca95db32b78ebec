"""The files that one spec grants: roots opened when it is loaded, and patterns below them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, Self

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.files.listing import CheckWanted, GrantedFolder, Listing, list_entries
from cuttlebone.files.opening import (
    KernelOpener,
    PathOpener,
    kernel_has_openat2,
    open_by_walking,
)
from cuttlebone.files.paths import Components, names_folder, parse_path
from cuttlebone.files.refusals import denied, quoted, refusal
from cuttlebone.files.roots import Grant, folder_components, resolve_pattern
from cuttlebone.files.source import SourceFile

PATTERNS_MAX: Final = 256
"""Patterns of one spec: each holds a descriptor."""
_PATTERNS_SHOWN: Final = 5


class Grants:
    """What the jobs of one spec may open.

    Owner: the spec; shared by the threads of its jobs. Invariants: the root descriptors are open
    while an `open` is under way, also when `close` is called meanwhile (a closed number could by
    then belong to another folder); after `close` nothing is opened any more.
    """

    def __init__(
        self, folder: Components, grants: Sequence[Grant], opener: PathOpener, held: ExitStack
    ) -> None:
        self._folder = folder
        # The longest name first: the innermost grant is the one that an operator means.
        self._grants = sorted(grants, key=lambda grant: -max(map(len, grant.names)))
        self._opener = opener
        self._described = [f"{grant.pattern}: {grant.extent} {grant.root}" for grant in grants]
        self._written = [grant.pattern for grant in grants]
        self._held = held
        self._lock = Lock()
        self._opening = 0
        self._closed = False

    @classmethod
    def resolve(
        cls,
        base: Path,
        patterns: Sequence[str],
        *,
        follow_symlinks: bool = False,
        opener: PathOpener | None = None,
    ) -> Self:
        """Open the root of each pattern; patterns are relative to `base`, the folder of the spec.

        `opener` walks paths below a root; None takes the best that this kernel has. Raises
        OperatorError for a pattern that makes no sense or whose root is not there.
        """
        if len(patterns) > PATTERNS_MAX:
            raise OperatorError(
                f"capabilities.read in {base} has {len(patterns)} patterns; at most {PATTERNS_MAX} "
                "go: name folders instead of single files"
            )
        chosen = opener or _best_opener(follow_symlinks=follow_symlinks)
        folder = folder_components(base)
        with ExitStack() as opened:
            grants = [resolve_pattern(pattern, folder, opened) for pattern in patterns]
            return cls(folder, grants, chosen, opened.pop_all())

    def open(self, path: str) -> SourceFile:
        """Open a granted file for reading; it is the caller's to close. Raises CommandError.

        `capability_denied` comes before any system call when no pattern covers `path`, whether
        there is such a file or not; `not_found` only when one does.
        """
        located = self._locate(parse_path(path, self._folder))
        if not located:
            raise denied(f"{quoted(path)} is not granted; {self._written_patterns()}")
        if names_folder(path):
            raise denied(f"{quoted(path)} names a folder, and only regular files can be opened")
        refusals = []
        with self._open_roots():
            for grant, relative in located:
                try:
                    return self._open_below(grant, relative, path)
                except CommandError as error:
                    refusals.append(error)
        raise refusals[0]

    def list_folder(
        self, path: str, *, after: str | None, entries_max: int, check_wanted: CheckWanted
    ) -> Listing:
        """List the granted entries of a folder behind the name `after`. Raises CommandError.

        `check_wanted` is called for each name, and may raise JobError.

        `capability_denied` comes before any system call when nothing in the folder can be granted.
        """
        asked = parse_path(path, self._folder)
        folders = [
            GrantedFolder(grant, asked, self._opener)
            for grant in self._grants
            if grant.concerns_folder(asked)
        ]
        if not any(folder.leads for folder in folders):
            raise denied(f"{quoted(path)} is not granted as a folder; {self._written_patterns()}")
        with self._open_roots():
            try:
                return list_entries(
                    folders,
                    path,
                    after=after,
                    entries_max=entries_max,
                    check_wanted=check_wanted,
                )
            except OSError as error:
                raise refusal(error, path) from None

    def describe(self) -> list[str]:
        """One line a pattern, for people: the pattern, what it allows, and its root as it really is."""
        return list(self._described)

    def close(self) -> None:
        """Withdraw all grants; files that are open stay so. May be called twice."""
        with self._lock:
            self._closed = True
            if not self._opening:
                self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _locate(self, path: Components) -> list[tuple[Grant, Components]]:
        found = ((grant, grant.locate(path)) for grant in self._grants)
        return [(grant, relative) for grant, relative in found if relative is not None]

    def _open_below(self, grant: Grant, relative: Components, path: str) -> SourceFile:
        try:
            path_fd = grant.open_below(relative, self._opener)
            try:
                return SourceFile.reopen(path_fd, path)
            finally:
                os.close(path_fd)
        except FileNotFoundError as error:
            if os.fstat(grant.root_fd).st_nlink == 0:
                raise denied(f"the folder granted by {grant.pattern!r} was removed") from None
            raise refusal(error, path) from None
        except OSError as error:
            raise refusal(error, path) from None

    @contextmanager
    def _open_roots(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise denied("the grants of this spec have been withdrawn")
            self._opening += 1
        try:
            yield
        finally:
            self._leave_roots()

    def _leave_roots(self) -> None:
        with self._lock:
            self._opening -= 1
            if self._closed and not self._opening:
                self._held.close()

    def _written_patterns(self) -> str:
        if not self._written:
            return "the spec grants no files (capabilities.read)"
        more = "" if len(self._written) <= _PATTERNS_SHOWN else ", …"
        return f"capabilities.read has {', '.join(self._written[:_PATTERNS_SHOWN])}{more}"


def _best_opener(*, follow_symlinks: bool) -> PathOpener:
    if kernel_has_openat2():
        return KernelOpener(follow_symlinks)
    if follow_symlinks:
        raise OperatorError(
            "follow_symlinks needs openat2, which this kernel (before 5.6) or container does not "
            "offer; turn it off and grant the folders that the links point to"
        )
    return open_by_walking
