"""How much each token and each tenant may ask of a host."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from cuttlebone.access.callers import Caller
from cuttlebone.errors import RETRY_LATER_S, RETRY_SOON_S, CallerError, ProblemCode
from cuttlebone.settings import Settings

STORED_BYTES_KNOWN_S: Final = 5.0
"""How long what a tenant stores counts as known: to find it out takes a while."""


@dataclass(slots=True)
class _Bucket:
    """What is left of the requests of one token. Owner: the quotas."""

    left: float
    filled_at: float


@dataclass(frozen=True, slots=True)
class _Stored:
    size: int
    looked_at: float


class Quotas:
    """Counts what callers ask. Any thread may use it; one lock guards the counts.

    Invariants: a bucket holds at most one second's requests; a stream is counted from its
    beginning to its end. Callers without a bound are not counted.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tenant_waiting_max = settings.tenant_jobs_waiting_max
        self._rate = settings.token_requests_per_s_max
        self._streams_max = settings.token_streams_max
        self._stored_bytes_max = settings.tenant_stored_bytes_max
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._streams: Counter[str] = Counter()
        self._stored: dict[str, _Stored] = {}
        self._lock = threading.Lock()

    def count_request(self, caller: Caller) -> None:
        """Count one request; raise CallerError `quota_exceeded` if there were too many of late."""
        if not caller.bounded:
            return
        moment = self._clock()
        with self._lock:
            bucket = self._buckets.setdefault(caller.name, _Bucket(self._rate, moment))
            earned = (moment - bucket.filled_at) * self._rate
            bucket.left = min(self._rate, bucket.left + earned)
            bucket.filled_at = moment
            if bucket.left >= 1:
                bucket.left -= 1
                return
        raise _exceeded(
            f"more than {self._rate} requests a second with the token {caller.name} "
            "(`token_requests_per_s_max`); slow down",
            retry_after_s=RETRY_SOON_S,
        )

    @contextmanager
    def stream(self, caller: Caller) -> Iterator[None]:
        """Count a stream or a wait while the body runs; raise CallerError `quota_exceeded`."""
        if not caller.bounded:
            yield
            return
        with self._lock:
            full = self._streams[caller.name] >= self._streams_max
            if not full:
                self._streams[caller.name] += 1
        if full:
            raise _exceeded(
                f"{self._streams_max} streams and waits are open with the token {caller.name} "
                "(`token_streams_max`); end one"
            )
        try:
            yield
        finally:
            with self._lock:
                self._streams[caller.name] -= 1

    def check_stored(self, caller: Caller, stored_bytes: Callable[[str], int]) -> None:
        """Raise CallerError `quota_exceeded` where the tenant stores too much to submit more."""
        if not caller.bounded:
            return
        moment = self._clock()
        with self._lock:
            known = self._stored.get(caller.tenant)
        if known is None or moment - known.looked_at > STORED_BYTES_KNOWN_S:
            known = _Stored(stored_bytes(caller.tenant), moment)
            with self._lock:
                self._stored[caller.tenant] = known
        if known.size >= self._stored_bytes_max:
            raise _exceeded(
                f"the jobs of this tenant hold {known.size} bytes of {self._stored_bytes_max} "
                "(`tenant_stored_bytes_max`); forget some with DELETE /v1/jobs/{id}"
            )

    def waiting_max(self, caller: Caller) -> int | None:
        """How many jobs of the caller's tenant may wait; None is as many as the host takes."""
        return self._tenant_waiting_max if caller.bounded else None


def _exceeded(reason: str, *, retry_after_s: int = RETRY_LATER_S) -> CallerError:
    return CallerError(ProblemCode.QUOTA_EXCEEDED, reason, retry_after_s=retry_after_s)
