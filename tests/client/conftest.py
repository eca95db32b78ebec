"""A client whose network is a script: the one that waits, and its twin that awaits."""

import asyncio
from collections.abc import Iterator
from typing import cast

import httpx
import pytest

from client.awaited import Awaited
from client.scripted import ScriptedHost
from cuttlebone.client import AsyncClient, Client

URL = "http://host.test"


@pytest.fixture
def host() -> ScriptedHost:
    return ScriptedHost()


@pytest.fixture(params=["blocking", "awaiting"])
def client(request: pytest.FixtureRequest, host: ScriptedHost) -> Iterator[Client]:
    transport = httpx.MockTransport(host.handle)
    if request.param == "blocking":
        with Client(URL, transport=transport, pause=host.pauses.append) as client:
            yield client
        return

    async def pause(delay_s: float) -> None:
        host.pauses.append(delay_s)

    with asyncio.Runner() as runner:
        twin = Awaited(AsyncClient(URL, transport=transport, pause=pause), runner)
        yield cast("Client", twin)
        twin.close()
