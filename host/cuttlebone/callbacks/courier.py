"""The thread that delivers: takes what is due from the outbox, sends it, notes how that went."""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from cuttlebone.callbacks.message import Signer, message_body
from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.callbacks.sender import NotDelivered, Sender
from cuttlebone.callbacks.turns import OF_ONE_AT_ONCE_MAX, next_turns
from cuttlebone.errors import CallerError, StoreUnavailable
from cuttlebone.job.delivery import Attempt, Delivery, Topic, state_after
from cuttlebone.job.job import Job, JobKey, now
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.outbox import Outbox

ROUND_S: Final = 0.25
"""How often the outbox is looked at."""
STORE_RETRY_S: Final = 1.0
GONE: Final = 410
"""The answer of a receiver that wants no more."""
JITTER: Final = 0.1
"""Of a delay, at most added to it: what failed together should not come back together."""

_log = structlog.get_logger(__name__)


class JobLookup(Protocol):
    """The part of a job store that is needed here."""

    def get(self, key: JobKey) -> Job | None:
        """The job as it stands, whole."""


class Courier:
    """Owner: the host, which starts and stops it once. The loop inside belongs to its thread.

    Invariants: an attempt is noted after it was made, so one that the end of the host cuts short is
    made again: a receiver may hear twice, with the same id, and never not at all.
    """

    def __init__(
        self,
        jobs: JobLookup,
        outbox: Outbox,
        policy: CallbackPolicy,
        *,
        signer: Signer,
        sender: Sender,
        delays_s: Sequence[float],
        metrics: HostMetrics,
        clock: Callable[[], datetime] = now,
        wall: Callable[[], datetime] = now,
    ) -> None:
        """`delays_s` are the pauses between attempts; after the last one it is given up.

        `clock` is that of the schedule; `wall` is what receivers compare their own time with.
        """
        self._jobs = jobs
        self._outbox = outbox
        self._policy = policy
        self._signer = signer
        self._sender = sender
        self._delays_s = tuple(delays_s)
        self._metrics = metrics
        self._clock = clock
        self._wall = wall
        self._under_way: dict[Delivery, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="courier", daemon=True
        )

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        """End at once; what was not noted is tried again at the next start."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._started.set()
        delivering = asyncio.create_task(self._deliver())
        await self._stopping.wait()
        tasks = (delivering, *self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _deliver(self) -> None:
        while True:
            try:
                due = self._outbox.due(Topic.CALLBACK, self._clock(), each_max=OF_ONE_AT_ONCE_MAX)
            except Exception:  # noqa: BLE001  # the last resort of this thread: it looks again
                _log.exception("callbacks met a fault of the host")
                await asyncio.sleep(STORE_RETRY_S)
                continue
            for delivery in next_turns(due, self._under_way):
                self._under_way[delivery] = asyncio.create_task(self._see_to(delivery))
            await self._one_ends_or_round()

    async def _one_ends_or_round(self) -> None:
        if self._under_way:
            under_way = self._under_way.values()
            await asyncio.wait(under_way, timeout=ROUND_S, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(ROUND_S)

    async def _see_to(self, delivery: Delivery) -> None:
        """Make one attempt. The delivery has its place until that was noted, or it would be sent twice."""
        try:
            await self._attempt(delivery)
        except Exception:  # noqa: BLE001  # the last resort of a delivery: the others go on
            _log.exception("a callback met a fault of the host")
            await asyncio.sleep(STORE_RETRY_S)
        finally:
            del self._under_way[delivery]

    async def _attempt(self, delivery: Delivery) -> None:
        job = self._jobs.get(delivery.key)
        if job is None or job.callback_url is None:
            return  # forgotten, and its delivery with it
        began_at, began_s = self._clock(), time.monotonic()
        status, reason, last = await self._send(delivery, job, job.callback_url)
        attempt = Attempt(
            number=len(delivery.attempts) + 1,
            at=began_at,
            status=status,
            reason=reason,
            took_ms=round((time.monotonic() - began_s) * 1000),
        )
        again_at = None if last or not reason else self._again_at(attempt)
        await self._note(delivery, attempt, again_at)
        state = state_after(attempt, again_at)
        self._metrics.callback_attempted("failed" if again_at else state)
        if reason:
            _log.warning(
                "callback not delivered", job=job.id, tenant=job.tenant, attempt=attempt.number, state=state,
                reason=reason,
            )  # fmt: skip

    async def _note(self, delivery: Delivery, attempt: Attempt, again_at: datetime | None) -> None:
        """Keep an attempt, as soon as that can be done."""
        while True:
            try:
                self._outbox.note(delivery, attempt, next_attempt_at=again_at)
            except StoreUnavailable as error:
                _log.warning("callbacks wait for the job store", reason=str(error))
                await asyncio.sleep(STORE_RETRY_S)
            else:
                return

    async def _send(self, delivery: Delivery, job: Job, url: str) -> tuple[int | None, str, bool]:
        """Return the status of the answer, why it does not count, and whether to leave it at that."""
        try:
            body = message_body(job)
            # Again, since the list may be another one than when the job was accepted.
            target = self._policy.target(url)
            status = await self._sender.send(
                target, self._signer.headers(delivery.id, body, self._wall()), body
            )
        except CallerError as error:
            return None, error.message, True
        except NotDelivered as error:
            return None, str(error), False
        except Exception:  # noqa: BLE001  # the last resort of a delivery: the others are still delivered
            _log.exception("a callback met a fault of the host", job=job.id, tenant=job.tenant)
            return None, "a fault of this host, which its log tells more of", False
        if 200 <= status < 300:
            return status, "", False
        return status, f"the answer has status {status}", status == GONE

    def _again_at(self, attempt: Attempt) -> datetime | None:
        if attempt.number > len(self._delays_s):
            return None
        delay_s = self._delays_s[attempt.number - 1]
        spread_s = random.uniform(0, JITTER) * delay_s  # noqa: S311  # no secret depends on it
        return self._clock() + timedelta(seconds=delay_s + spread_s)
