"""Spawn requests arrive as they were sent."""

import pytest

from cuttlebone.locked_process.lockdown import ProcessLimits
from cuttlebone.locked_process.spawn_request import SpawnRequest


@pytest.mark.parametrize(
    "request_sent",
    [
        SpawnRequest("a.b", ProcessLimits(1, 2, 3)),
        SpawnRequest("é", ProcessLimits(1 << 40, 1 << 41, 1 << 42), bytes(range(256))),
        SpawnRequest("p", ProcessLimits(1, 1, 1), b"{}", lowers_priority=False),
    ],
)
def test_a_request_survives_the_way(request_sent: SpawnRequest) -> None:
    assert SpawnRequest.unpack(request_sent.pack()) == request_sent
