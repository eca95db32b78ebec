"""Which URLs may be called back: only hosts that the operator listed, and only at fit addresses."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

import httpx

from cuttlebone.errors import CallerError, FieldFault, OperatorError, ProblemCode
from cuttlebone.text import printable
from cuttlebone.text.addresses import address, is_loopback
from cuttlebone.text.addresses import port as port_of

URL_CHARS_MAX: Final = 2048
DEFAULT_PORTS: Final = {"https": 443, "http": 80}

_ENTRY: Final = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?P<port>[0-9]+))?")
_STATED_PORT: Final = re.compile(r"[a-z]+://[^/?#]*:([^]/?#:]*)(?:[/?#].*)?", re.IGNORECASE)
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be called back."""

    scheme: str
    host: str
    """A name, or an address without brackets."""
    port: int
    path: str
    """With the query."""

    @property
    def authority(self) -> str:
        """What the `Host` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class CallbackPolicy:
    """The operator's list. Immutable."""

    def __init__(self, hosts: Iterable[str]) -> None:
        """`hosts` are `name`, which means the usual port of the scheme, or `name:port`.

        Raises OperatorError for an entry of another form.
        """
        self._hosts = frozenset(_entry(host) for host in hosts)

    def target(self, url: str) -> Target:
        """Return where a URL leads; raise CallerError, pointing to `/callback_url`, if it may not be."""
        if len(url) > URL_CHARS_MAX or not _PRINTABLE.fullmatch(url):
            raise _refused(f"should have at most {URL_CHARS_MAX} printable ASCII characters")
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise _refused(f"is no URL: {error}") from None
        if parsed.scheme not in DEFAULT_PORTS or not parsed.host:
            raise _refused("should begin with https://, or for a loopback address with http://")
        if parsed.userinfo or parsed.fragment:
            raise _refused("should have neither a user nor a fragment")
        stated = _STATED_PORT.fullmatch(url)
        if stated is not None and port_of(stated[1]) is None:
            raise _refused(
                f"has the port {printable(stated[1])!r}: should be 1 to 65535, without leading zeros"
            )
        host = parsed.raw_host.decode("ascii").strip("[]").lower()
        port = parsed.port or DEFAULT_PORTS[parsed.scheme]
        target = Target(parsed.scheme, host, port, parsed.raw_path.decode("ascii"))
        usual = port == DEFAULT_PORTS[parsed.scheme]
        if (host, port) not in self._hosts and not (usual and (host, None) in self._hosts):
            raise _refused(
                f"{printable(f'{host}:{port}')} is not among the hosts that the operator of this "
                "host lets it call back (`callback_hosts`)"
            )
        named = address(host)
        if target.scheme == "http" and (named is None or not is_loopback(named)):
            raise _refused(
                "should begin with https://: only a loopback address is called over http"
            )
        return target


def address_fault(target: Target, found: IPv4Address | IPv6Address) -> str | None:
    """Why a target must not be called at an address that its name leads to; None if it may be.

    A listed name is trusted with the network around, where its certificate speaks for it, but not
    with this machine or its link, where services listen that trust whoever can reach them. Those
    are called only if the operator wrote the address itself, or `localhost`.
    """
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    actual = mapped or found
    if target.scheme == "http":
        return None if is_loopback(actual) else f"{actual} is no loopback address"
    if address(target.host) is not None:
        return None
    if actual.is_loopback or actual.is_link_local or actual.is_multicast or actual.is_unspecified:
        return f"the name leads to {actual}, an address of this machine or its link"
    return None


def _entry(entry: str) -> tuple[str, int | None]:
    found = _ENTRY.fullmatch(entry.lower())
    port = None if found is None or found["port"] is None else port_of(found["port"])
    if found is None or (port is None and found["port"] is not None):
        raise OperatorError(
            f"`callback_hosts`: {printable(entry)!r} is no host; write `hooks.example.org` or "
            "`127.0.0.1:9000`, without a scheme or a path"
        )
    return found["host"].strip("[]"), port


def _refused(reason: str) -> CallerError:
    return CallerError(
        ProblemCode.INVALID_BODY,
        f"/callback_url: {reason}",
        faults=(FieldFault("/callback_url", reason),),
    )
