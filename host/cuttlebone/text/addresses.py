"""Addresses of hosts in strict text form."""

import ipaddress
import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final

DEFAULT_URL: Final = "http://127.0.0.1:8420"
"""Where a host answers that was started with default settings."""

PORT_MAX: Final = 65_535

_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
_LOOPBACK_V6: Final = IPv6Address("::1")


def address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an IP address, or the word `localhost`; None for anything else.

    IPv4 is four decimal octets without leading zeros; IPv6 has neither brackets nor a zone.
    """
    if text == "localhost":
        return IPv4Address("127.0.0.1")
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def port(text: str) -> int | None:
    """Read a port, 1 to 65535 in decimal without a sign or leading zeros; None for anything else."""
    if not _PORT.fullmatch(text) or int(text) > PORT_MAX:
        return None
    return int(text)


def is_loopback(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address is in 127.0.0.0/8 or is ::1.

    Not `is_loopback` of the standard library: from Python 3.13 on it says yes to
    ::ffff:127.0.0.1, which other programs bind to something else.
    """
    match address:
        case IPv4Address():
            return address.packed[0] == 127
        case IPv6Address():
            return address == _LOOPBACK_V6


def with_scheme(url: str) -> str:
    """Put `http://` before an address that has no scheme, such as `127.0.0.1:8420`."""
    return url if "://" in url or url.startswith("unix:") else f"http://{url}"


def in_url(address: IPv4Address | IPv6Address) -> str:
    """Write an address as the host of a URL: IPv6 in its canonical form, in brackets."""
    return f"[{address.compressed}]" if address.version == 6 else str(address)
