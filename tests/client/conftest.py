"""A client whose network is a script."""

from collections.abc import Iterator

import httpx
import pytest

from client.scripted import ScriptedHost
from cuttlebone.client import Client


@pytest.fixture
def host() -> ScriptedHost:
    return ScriptedHost()


@pytest.fixture
def client(host: ScriptedHost) -> Iterator[Client]:
    transport = httpx.MockTransport(host.handle)
    with Client("http://host.test", transport=transport, pause=host.pauses.append) as client:
        yield client
