"""Sends one message to a callback: to an address that was checked, within a bound of time, once."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

import httpx

from cuttlebone.callbacks.policy import Target, address_fault
from cuttlebone.text import printable

TIMEOUT_S: Final = 15.0
"""From looking up the name to the status of the answer. The body of an answer is not read."""


Address = IPv4Address | IPv6Address
LookUp = Callable[[str, int], Awaitable[Sequence[Address]]]


class NotDelivered(Exception):
    """No answer; the message says why."""


class Sender:
    """Owner: the courier. Immutable; nothing is kept from one message to the next.

    Redirects are not followed, proxies of the environment are not used, and no cookie is kept.
    """

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        verify: ssl.SSLContext | None = None,
        look_up: LookUp | None = None,
    ) -> None:
        """`verify` is what certificates are checked against, instead of what the machine trusts."""
        self._look_up = look_up or look_up_name
        self._timeout_s = timeout_s
        self._verify = verify

    async def send(self, target: Target, headers: Mapping[str, str], body: bytes) -> int:
        """Return the status of the answer; raise NotDelivered."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._send(target, headers, body)
        except TimeoutError:
            raise NotDelivered(f"no answer within {self._timeout_s:g} seconds") from None

    async def _send(self, target: Target, headers: Mapping[str, str], body: bytes) -> int:
        trouble = "the name leads nowhere"
        # Once, and every address has to be fit: which one answers is not up to the operator.
        addresses = await self._look_up(target.host, target.port)
        for one in addresses:
            fault = address_fault(target, one)
            if fault is not None:
                raise NotDelivered(fault)
        async with httpx.AsyncClient(
            verify=self._context(target), trust_env=False, timeout=self._timeout_s
        ) as client:
            for found in addresses:
                try:
                    return await _post(client, target, found, headers, body)
                except httpx.ConnectError as error:  # the next address may answer
                    trouble = printable(str(error)) or "it cannot be connected to"
                except httpx.RequestError as error:
                    raise NotDelivered(printable(str(error)) or type(error).__name__) from None
        raise NotDelivered(trouble)

    def _context(self, target: Target) -> ssl.SSLContext | bool:
        # Reading what the machine trusts takes longer than a message over http.
        if target.scheme == "http":
            return False
        return self._verify or ssl.create_default_context()


async def look_up_name(host: str, port: int) -> Sequence[Address]:
    """All addresses of a name; raise NotDelivered."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotDelivered(f"the name cannot be looked up: {error.strerror}") from None
    return [ip_address(entry[4][0]) for entry in found]


async def _post(
    client: httpx.AsyncClient,
    target: Target,
    found: Address,
    headers: Mapping[str, str],
    body: bytes,
) -> int:
    # The very address that was checked: a second look-up could lead elsewhere. The name goes into
    # the TLS handshake, so the certificate is still checked for it, and into `Host`.
    host = f"[{found}]" if found.version == 6 else str(found)
    request = client.build_request(
        "POST",
        f"{target.scheme}://{host}:{target.port}{target.path}",
        content=body,
        headers={**headers, "Host": target.authority, "User-Agent": "cuttlebone"},
        extensions={"sni_hostname": target.host} if target.scheme == "https" else {},
    )
    response = await client.send(request, stream=True, follow_redirects=False)
    await response.aclose()
    return response.status_code
