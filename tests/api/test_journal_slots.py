"""How many journals are sent at once, and what one that is large costs the host."""

import contextlib
import socket
import tracemalloc
from pathlib import Path

import pytest

from api.hosted import BOUND_S, Api, served
from cuttlebone.api.journal_slots import JournalSlots
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.job import TENANT, JobKey
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json

PART = "x" * (256 << 10)


def recite(_guest: ScriptedGuest, value: Json) -> Commands:
    """Emit much, so often."""
    for _ in range(value):
        yield {"cmd": "emit", "progress": PART}
    yield {"cmd": "done", "result": None}


def refusal(slots: JournalSlots, tenant: str) -> str:
    with pytest.raises(CallerError) as refused, slots.taken(tenant):
        pass
    assert refused.value.code is ProblemCode.HOST_BUSY
    assert refused.value.retry_after_s
    return refused.value.message


def test_a_slot_is_for_a_while_and_one_tenant_has_half_of_them() -> None:
    slots = JournalSlots(4)
    with contextlib.ExitStack() as held:
        for _ in range(2):
            held.enter_context(slots.taken("red"))
        assert "2 journals of this tenant" in refusal(slots, "red")
        held.enter_context(slots.taken("blue"))
        held.enter_context(slots.taken("green"))
        assert "4 journals are being sent already (`journals_open_max`)" in refusal(slots, "blue")
    with slots.taken("red"):
        pass


def test_one_slot_is_for_whoever_comes() -> None:
    slots = JournalSlots(1)
    with slots.taken("red"):
        refusal(slots, "blue")
    with slots.taken("blue"):
        pass


def asking(api: Api, path: str) -> socket.socket:
    """A client that asks and reads only the head of the answer."""
    client = socket.create_connection(api.address, timeout=BOUND_S)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert client.recv(100).startswith(b"HTTP/1.1 200")
    return client


def test_a_journal_too_many_is_refused_until_another_was_sent(tmp_path: Path) -> None:
    with served(tmp_path, {"recite": recite}, journals_open_max=1) as api:
        job = api.ended(api.submit("recite", 40, record="full"))
        path = job["links"]["journal"]
        slow = asking(api, path)
        refused = api.http.get(path)
        slow.close()
        for _ in range(2_000):
            answer = api.http.get(path)
            if answer.status_code == 200:
                break

    assert (refused.status_code, refused.json()["code"]) == (503, "host_busy")
    assert int(refused.headers["Retry-After"]) > 0
    assert "`journals_open_max`" in refused.json()["detail"]
    assert len(answer.json()["steps"]) == 40


def test_a_journal_whose_job_is_forgotten_meanwhile_is_cut_and_never_looks_whole(
    tmp_path: Path,
) -> None:
    with served(tmp_path, {"recite": recite}) as api:
        job = api.ended(api.submit("recite", 40, record="full"))
        key = JobKey(TENANT, job["id"])
        parts = api.host.jobs.journal(key)
        first = next(parts)
        api.host.jobs.forget(key)
        with pytest.raises(CallerError) as refused:
            list(parts)

    assert first.startswith(b'{"format":1,"id":"' + job["id"].encode())
    assert refused.value.code is ProblemCode.UNKNOWN_JOB


def test_a_large_journal_is_never_held_whole(tmp_path: Path) -> None:
    with served(
        tmp_path,
        {"recite": recite},
        state=tmp_path / "state",
        more="limits: {event_bytes: 67108864}\n",
    ) as api:
        job = api.ended(api.submit("recite", 120, record="full"))
        tracemalloc.start()
        try:
            size = sum(len(part) for part in api.host.jobs.journal(JobKey(TENANT, job["id"])))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert size > 30_000_000
    assert peak < 8_000_000
