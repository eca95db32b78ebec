"""Callbacks of whole hosts: retries, restarts, an operator who changed his mind."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from cuttlebone.callbacks.courier import Courier
from cuttlebone.callbacks.message import Signer
from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.callbacks.sender import Sender
from cuttlebone.callbacks.turns import OF_ONE_AT_ONCE_MAX
from cuttlebone.errors import CallerError, OperatorError, StoreUnavailable
from cuttlebone.job.delivery import Attempt, Delivery, DeliveryState
from cuttlebone.job.job import Job, Submission, now
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.host import Host
from cuttlebone.store.memory import MemoryState, open_memory_stores
from cuttlebone.store.memory.outbox import MemoryOutbox
from cuttlebone.store.outbox import Outbox
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores
from guest_scripts import echo
from hosts import BOUND_S, ended, scripted_host
from receiving import Receiver, receiving
from store.stores import finish, job, key


def host_of(
    folder: Path,
    receiver: Receiver,
    *,
    durable: bool = True,
    delays_s: tuple[float, ...] = (0.0, 0.0),
    allowed: bool = True,
    secret_file: Path | None = None,
) -> AbstractContextManager[Host]:
    specs = folder / "specs"
    specs.mkdir(exist_ok=True)
    return scripted_host(
        specs,
        {"echo": echo},
        state=folder / "state" if durable else None,
        callback_hosts=(f"127.0.0.1:{receiver.port}",) if allowed else (),
        callback_delays_s=delays_s,
        callback_secret_file=secret_file,
    )


def finished(host: Host, receiver: Receiver) -> Job:
    url = f"{receiver.url}/end?of=job"
    return ended(host, host.jobs.submit(Submission("echo", 1, callback_url=url)))


def settled(host: Host, job: Job) -> Delivery:
    """Wait until a delivery is tried no more."""
    for _ in range(2_000):
        (delivery,) = host.jobs.deliveries(job.key)
        if delivery.state is not DeliveryState.PENDING:
            return delivery
        ended(host, host.jobs.submit(Submission("echo", None)))  # time passes
    raise AssertionError(f"it is still pending: {delivery}")


def test_the_end_of_a_job_is_told_once_and_signed(tmp_path: Path) -> None:
    with receiving() as receiver, host_of(tmp_path, receiver) as host:
        job = finished(host, receiver)
        delivery = settled(host, job)
        (request,) = receiver.received()
    secret = (tmp_path / "state" / "callback_secret").read_text().strip()
    told = Webhook(secret).verify(request.body, request.headers)
    assert (told["type"], told["data"]["id"]) == ("job.completed", job.id)
    assert request.path == "/end?of=job"
    assert request.headers["webhook-id"] == delivery.id
    assert delivery.state is DeliveryState.DELIVERED
    assert [(one.number, one.status, one.reason) for one in delivery.attempts] == [(1, 204, "")]


def test_a_receiver_that_fails_is_told_again_with_the_same_id(tmp_path: Path) -> None:
    with receiving() as receiver, host_of(tmp_path, receiver) as host:
        receiver.plan = [500, 302]
        delivery = settled(host, finished(host, receiver))
        requests = receiver.received(3)
    assert [one.status for one in delivery.attempts] == [500, 302, 204]
    assert delivery.attempts[0].reason == "the answer has status 500"
    assert len({one.headers["webhook-id"] for one in requests}) == 1
    assert len({one.body for one in requests}) == 1


def test_after_the_last_attempt_it_is_given_up(tmp_path: Path) -> None:
    with receiving() as receiver, host_of(tmp_path, receiver) as host:
        receiver.plan = [500] * 9
        delivery = settled(host, finished(host, receiver))
    assert delivery.state is DeliveryState.ABANDONED
    assert len(delivery.attempts) == 3


def test_a_receiver_that_is_gone_is_left_alone_at_once(tmp_path: Path) -> None:
    with receiving() as receiver, host_of(tmp_path, receiver) as host:
        receiver.plan = [410]
        delivery = settled(host, finished(host, receiver))
    assert delivery.state is DeliveryState.ABANDONED
    assert len(delivery.attempts) == 1


def test_what_was_not_delivered_is_tried_again_by_the_next_host(tmp_path: Path) -> None:
    with receiving() as receiver:
        receiver.plan = [503]
        with host_of(tmp_path, receiver, delays_s=(1.0,)) as host:
            job = finished(host, receiver)
            receiver.received(1)
        with host_of(tmp_path, receiver, delays_s=(1.0,)) as host:
            first, second = receiver.received(2)
            delivery = settled(host, job)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert delivery.state is DeliveryState.DELIVERED


def test_a_host_that_is_listed_no_more_is_not_called(tmp_path: Path) -> None:
    with receiving() as receiver:
        receiver.plan = [503]
        with host_of(tmp_path, receiver, delays_s=(1.0,)) as host:
            job = finished(host, receiver)
            receiver.received(1)
        with host_of(tmp_path, receiver, allowed=False) as host:
            delivery = settled(host, job)
        assert len(receiver.received()) == 1
    assert delivery.state is DeliveryState.ABANDONED
    assert "callback_hosts" in delivery.attempts[-1].reason


def test_a_job_with_another_callback_is_refused_and_not_kept(tmp_path: Path) -> None:
    with receiving() as receiver, host_of(tmp_path, receiver) as host:
        with pytest.raises(CallerError, match="callback_hosts"):
            host.jobs.submit(Submission("echo", 1, callback_url="https://evil.test/"))
        assert not host.jobs.find(JobFilter())


def test_in_memory_a_secret_has_to_be_stated(tmp_path: Path) -> None:
    with receiving() as receiver:
        with (
            pytest.raises(OperatorError, match="callback_secret_file"),
            host_of(tmp_path, receiver, durable=False),
        ):
            pass
        secret = tmp_path / "secret"
        secret.write_text("whsec_" + "A" * 32)
        secret.chmod(0o600)
        with host_of(tmp_path, receiver, durable=False, secret_file=secret) as host:
            settled(host, finished(host, receiver))
        (request,) = receiver.received()
    assert json.loads(request.body)["type"] == "job.completed"
    Webhook(secret.read_text()).verify(request.body, request.headers)


class FullDisk(MemoryOutbox):
    """Cannot be written at first."""

    def __init__(self, state: MemoryState) -> None:
        super().__init__(state)
        self.noted = threading.Event()
        self._full = True

    def note(
        self, delivery: Delivery, attempt: Attempt, *, next_attempt_at: datetime | None
    ) -> None:
        if self._full:
            self._full = False
            raise StoreUnavailable("the disk is full")
        super().note(delivery, attempt, next_attempt_at=next_attempt_at)
        self.noted.set()


async def odd_look_up(_host: str, _port: int) -> list[IPv4Address | IPv6Address]:
    """Have a bug."""
    raise ZeroDivisionError


@contextmanager
def couriered(
    stores: Stores,
    outbox: Outbox,
    *ports: int,
    sender: Sender,
    wall: Callable[[], datetime] = now,
) -> Iterator[None]:
    courier = Courier(
        stores.jobs,
        outbox,
        CallbackPolicy([f"127.0.0.1:{port}" for port in ports]),
        signer=Signer([]),
        sender=sender,
        delays_s=(),
        metrics=HostMetrics(),
        wall=wall,
    )
    courier.start()
    yield
    courier.stop()


def on_full_disk() -> tuple[Stores, FullDisk]:
    state = MemoryState()
    return open_memory_stores(kept_max=9, state=state), FullDisk(state)


def finished_in(stores: Stores, url: str, name: str = "a") -> None:
    stores.jobs.insert(replace(job(name), callback_url=url), waiting_max=99).result()
    finish(stores, name)


def test_an_attempt_that_cannot_be_kept_yet_is_not_made_again() -> None:
    stores, log = on_full_disk()
    with receiving() as receiver:
        finished_in(stores, f"{receiver.url}/")
        with couriered(stores, log, receiver.port, sender=Sender()):
            assert log.noted.wait(BOUND_S)
        assert len(receiver.received()) == 1
    assert log.of(key("a"))[0].state is DeliveryState.DELIVERED


def test_a_fault_of_the_host_fails_one_attempt_and_not_the_courier() -> None:
    stores, log = on_full_disk()
    finished_in(stores, "http://127.0.0.1:9/")
    with couriered(stores, log, 9, sender=Sender(look_up=odd_look_up)):
        assert log.noted.wait(BOUND_S)
    assert "a fault of this host" in log.of(key("a"))[0].attempts[0].reason


def test_a_slow_receiver_holds_up_nobody_but_itself(tmp_path: Path) -> None:
    stores = open_sqlite_stores(tmp_path)
    released = threading.Event()

    def slow() -> int:
        assert released.wait(BOUND_S)
        return 204

    with receiving() as lazy, receiving() as prompt:
        lazy.plan = [slow] * 40
        for number in range(40):
            finished_in(stores, f"{lazy.url}/{number}", f"lazy-{number}")
        finished_in(stores, f"{prompt.url}/", "prompt")
        with couriered(stores, stores.outbox, lazy.port, prompt.port, sender=Sender()):
            prompt.received(1)
            before = len(lazy.received(OF_ONE_AT_ONCE_MAX))
            finished_in(stores, f"{prompt.url}/", "later")
            prompt.received(2)
            still = len(lazy.received())
            released.set()
            paths = [one.path for one in lazy.received(40)]

    stores.close()
    assert (before, still) == (OF_ONE_AT_ONCE_MAX, OF_ONE_AT_ONCE_MAX)
    assert sorted(paths) == sorted(f"/{number}" for number in range(40))


def test_a_message_has_the_time_of_the_wall_with_which_receivers_compare_it() -> None:
    stores, log = on_full_disk()
    with receiving() as receiver:
        finished_in(stores, f"{receiver.url}/")
        noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        with couriered(stores, log, receiver.port, sender=Sender(), wall=lambda: noon):
            (request,) = receiver.received(1)

    assert request.headers["webhook-timestamp"] == str(int(noon.timestamp()))
