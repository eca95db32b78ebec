"""The files of one job: open, list, and slice and close by number."""

from dataclasses import dataclass
from itertools import count

from cuttlebone.errors import CommandError
from cuttlebone.files.grants import Grants
from cuttlebone.files.listing import CheckWanted, Listing
from cuttlebone.files.refusals import denied
from cuttlebone.files.source import SourceFile
from cuttlebone.files.windows import Window, read_bytes, read_window
from cuttlebone_abi import ErrorCode, FileKind


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """What a job is told of a file that it opened."""

    handle: int
    len: int
    """Bytes in the file at opening."""
    kind: FileKind


class HandleTable:
    """The files that one job has open.

    Owner: the thread of the job. Invariants: handles count from 1 and are never used again;
    at most `handles_max` files are open at any time.
    """

    def __init__(self, grants: Grants, *, handles_max: int, window_bytes_max: int) -> None:
        self._grants = grants
        self._handles_max = handles_max
        self._window_bytes_max = window_bytes_max
        self._files: dict[int, SourceFile] = {}
        self._next_handle = count(1)

    def open(self, path: str) -> OpenedFile:
        """Open a granted file; raise CommandError.

        `capability_denied`, `not_found`, or `limit_exceeded` when the job has `handles_max` files
        open or the host no descriptor left.
        """
        if len(self._files) >= self._handles_max:
            raise CommandError(
                ErrorCode.LIMIT_EXCEEDED,
                f"handles is limited to {self._handles_max}, and this job has as many files open; "
                "close one first",
            )
        file = self._grants.open(path)
        try:
            kind = file.kind()
        except BaseException:
            file.close()
            raise
        handle = next(self._next_handle)
        self._files[handle] = file
        return OpenedFile(handle, file.size, kind)

    def slice(self, handle: int, offset: int, length: int, *, replace_invalid: bool) -> Window:
        """Read the text of at most `length` bytes at `offset`, both in bytes; raise CommandError.

        `capability_denied` for a handle that is not open, `invalid_argument`, `not_text`, or
        `input_changed` when the file is no longer what was opened.
        """
        file = self._file(handle)
        window = read_window(
            file.read,
            file.size,
            offset,
            length,
            window_bytes_max=self._window_bytes_max,
            replace_invalid=replace_invalid,
        )
        if not window.text:
            # Nothing was read, so nothing was compared: a file that has grown must not seem to end.
            file.require_unchanged()
        return window

    def slice_bytes(self, handle: int, offset: int, length: int) -> bytes:
        """Read at most `length` bytes at `offset`; raise CommandError.

        `capability_denied` for a handle that is not open, `invalid_argument` for an offset past the
        end, or `input_changed`.
        """
        file = self._file(handle)
        data = read_bytes(
            file.read, file.size, offset, length, window_bytes_max=self._window_bytes_max
        )
        if not data:
            file.require_unchanged()
        return data

    def list_folder(
        self,
        path: str,
        *,
        after: str | None,
        entries_max: int,
        check_wanted: CheckWanted = lambda: None,
    ) -> Listing:
        """Name what a granted folder holds behind the name `after`; raise CommandError.

        `capability_denied` for what is no granted folder, `not_found`, or `limit_exceeded` for a
        folder that holds too much. JobError as soon as `check_wanted` raises it.
        """
        return self._grants.list_folder(
            path, after=after, entries_max=entries_max, check_wanted=check_wanted
        )

    def close(self, handle: int) -> None:
        """Close one file; raise CommandError `capability_denied` if it is not open."""
        self._file(handle).close()
        del self._files[handle]

    def close_all(self) -> None:
        """Close whatever is open; may be called twice."""
        while self._files:
            self._files.popitem()[1].close()

    def _file(self, handle: int) -> SourceFile:
        file = self._files.get(handle)
        if file is None:
            raise denied(f"handle {handle} is not open in this job")
        return file
