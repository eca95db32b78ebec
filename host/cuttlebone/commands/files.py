"""`open`, `slice`, `slice_bytes`, `list`, `close`: the guest's way to files."""

import base64
from typing import TypeAlias, assert_never

from cuttlebone.commands.scope import JobScope
from cuttlebone_abi import (
    Close,
    Closed,
    Entry,
    List,
    Listed,
    Open,
    Opened,
    Slice,
    SliceBytes,
    Sliced,
    SlicedBytes,
)

FileCommand: TypeAlias = Open | Slice | SliceBytes | List | Close
FileEvent: TypeAlias = Opened | Sliced | SlicedBytes | Listed | Closed


def carry_out_file_command(command: FileCommand, scope: JobScope) -> FileEvent:
    """Carry out any command of this family; raise CommandError."""
    match command:
        case Open():
            return carry_out_open(command, scope)
        case Slice():
            return carry_out_slice(command, scope)
        case SliceBytes():
            return carry_out_slice_bytes(command, scope)
        case List():
            return carry_out_list(command, scope)
        case Close():
            return carry_out_close(command, scope)
        case _:
            assert_never(command)


def carry_out_open(command: Open, scope: JobScope) -> Opened:
    """Open a granted file; raise CommandError."""
    opened = scope.files.open(command.path)
    return Opened(handle=opened.handle, len=opened.len, kind=opened.kind)


def carry_out_slice(command: Slice, scope: JobScope) -> Sliced:
    """Read a window of text; raise CommandError."""
    window = scope.files.slice(
        command.handle,
        command.offset,
        command.len,
        replace_invalid=command.invalid == "replace",
    )
    return Sliced(text=window.text, next_offset=window.next_offset)


def carry_out_slice_bytes(command: SliceBytes, scope: JobScope) -> SlicedBytes:
    """Read a window of bytes; raise CommandError."""
    data = scope.files.slice_bytes(command.handle, command.offset, command.len)
    return SlicedBytes(
        bytes_base64=base64.b64encode(data).decode(), next_offset=command.offset + len(data)
    )


def carry_out_list(command: List, scope: JobScope) -> Listed:
    """Name what a granted folder holds; raise CommandError, or JobError once the job is stopped."""
    listing = scope.files.list_folder(
        command.path,
        after=command.after,
        entries_max=scope.budget.limits.list_entries,
        check_wanted=scope.budget.check,
    )
    entries = tuple(
        Entry(name=entry.name, kind="dir" if entry.is_folder else "file", len=entry.len)
        for entry in listing.entries
    )
    return Listed(entries=entries, after=entries[-1].name if listing.more else None)


def carry_out_close(command: Close, scope: JobScope) -> Closed:
    """Give a handle back; raise CommandError."""
    scope.files.close(command.handle)
    return Closed()
