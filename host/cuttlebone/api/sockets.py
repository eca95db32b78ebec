"""The sockets of a server: an address that may be listened on, or a socket in the file system."""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.text import printable
from cuttlebone.text.addresses import address, in_url, is_loopback

BACKLOG: Final = 2048
UNIX_SCHEME: Final = "unix:"


def listen(host: str, port: int, *, guarded: bool = False) -> socket.socket:
    """Open the socket of a server; port 0 takes a free one. Raises OperatorError.

    It listens at once, so that a busy port is known, and a client can connect, before anything
    else of the host has started. An address that other machines can reach is for hosts that are
    `guarded`: those where everybody needs a token.
    """
    parsed = address(host)
    if parsed is None:
        raise OperatorError(
            f"{printable(host)!r} is no address to listen on; "
            "give --host an IP address such as 127.0.0.1"
        )
    if not (guarded or is_loopback(parsed)):
        raise OperatorError(
            f"{parsed} can be reached from other machines, and this host has no tokens, so it would "
            "ask nobody who he is; make one with `cuttlebone token add NAME`, or give --host 127.0.0.1"
        )
    family = socket.AF_INET6 if isinstance(parsed, IPv6Address) else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(parsed), port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot_listen(f"{in_url(parsed)}:{port}", error) from None
    return listener


@contextmanager
def listen_unix(path: Path) -> Iterator[socket.socket]:
    """Open a socket in the file system, for the user of this process alone; remove it at the end.

    Raises OperatorError. A socket that a host left behind when it died is replaced.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_left_behind(path)
        _bind_private(listener, path)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot_listen(str(path), error) from None
    try:
        yield listener
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def url_of(listener: socket.socket) -> str:
    """Where a client finds whoever serves on this socket."""
    name = listener.getsockname()
    if listener.family is socket.AF_UNIX:
        return f"{UNIX_SCHEME}{name}"
    bound, port = name[:2]
    return f"http://{in_url(ip_address(bound))}:{port}"


def _bind_private(listener: socket.socket, path: Path) -> None:
    """Bind with mode 0600 from the first moment: chmod afterwards would leave a gap."""
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)


def _remove_left_behind(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "a file that is no socket is there")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
            else:
                raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _cannot_listen(where: str, error: OSError) -> OperatorError:
    if error.errno == errno.EADDRINUSE:
        return OperatorError(
            f"{where} is in use by another program; "
            "stop that one, or give --port with another number (0 takes a free one)"
        )
    return OperatorError(f"cannot listen on {where}: {error.strerror or error}")
