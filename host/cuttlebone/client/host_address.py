"""Where a host is, and with which token it is asked: from arguments, else from the environment."""

import os
import re
from dataclasses import dataclass, field
from typing import Final

import httpx

from cuttlebone.client.refusal import Unreachable
from cuttlebone.text import printable
from cuttlebone.text.addresses import DEFAULT_URL, with_scheme

URL_VARIABLE: Final = "CUTTLEBONE_URL"
TOKEN_VARIABLE: Final = "CUTTLEBONE_TOKEN"  # noqa: S105  # the name of a variable
UNIX_PREFIX: Final = "unix:"

_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Address:
    """A host that can be asked. The token is left out of every message and representation."""

    url: str
    """As it was stated."""
    base_url: str
    socket: str | None = None
    """Path of the unix socket that leads there."""
    token: str | None = field(default=None, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        # Compressed answers could be larger than what is counted on the way in.
        headers = {"Accept-Encoding": "identity"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers


def address_of(url: str | None, token: str | None) -> Address:
    """Read an address, `http://…`, `https://…` or `unix:PATH`; raise Unreachable for another one.

    Without a scheme, as in `127.0.0.1:8420`, it is `http://`.
    """
    stated = url if url is not None else os.environ.get(URL_VARIABLE, DEFAULT_URL)
    secret = (os.environ.get(TOKEN_VARIABLE, "") if token is None else token).strip() or None
    if secret is not None and not _TOKEN.fullmatch(secret):
        raise Unreachable(f"the token (or {TOKEN_VARIABLE}) has characters that no token has")
    if stated.startswith(UNIX_PREFIX):
        path = stated.removeprefix(UNIX_PREFIX)
        if not path or "\0" in path:
            raise Unreachable(f"{printable(stated)!r} names no socket; write unix:/path/of/socket")
        return Address(stated, "http://localhost", path, secret)
    try:
        base_url = with_scheme(stated)
        parsed = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise Unreachable(f"{printable(stated)!r} is no address of a host: {error}") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host or "%" in parsed.host:
        raise Unreachable(
            f"{printable(stated)!r} is no address of a host: it begins with neither http:// nor "
            "https:// nor unix:"
        )
    return Address(stated, base_url, None, secret)
