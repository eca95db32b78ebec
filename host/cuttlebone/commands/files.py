"""`open`, `slice`, `close`: the guest's way to files, by handles of its own job."""

from cuttlebone.commands.scope import Scope
from cuttlebone_abi import Close, Closed, Open, Opened, Slice, Sliced


def carry_out_open(command: Open, scope: Scope) -> Opened:
    """Open a granted file; raise CommandError."""
    opened = scope.files.open(command.path)
    return Opened(handle=opened.handle, len=opened.len, kind=opened.kind)


def carry_out_slice(command: Slice, scope: Scope) -> Sliced:
    """Read a window of text; raise CommandError."""
    window = scope.files.slice(
        command.handle,
        command.offset,
        command.len,
        replace_invalid=command.invalid == "replace",
    )
    return Sliced(text=window.text, next_offset=window.next_offset)


def carry_out_close(command: Close, scope: Scope) -> Closed:
    """Give a handle back; raise CommandError."""
    scope.files.close(command.handle)
    return Closed()
