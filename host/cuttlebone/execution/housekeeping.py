"""What has to be done to jobs at a start and from time to time: recovery, expiry, retention."""

import math
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog

from cuttlebone.errors import JobError, OperatorError, StoreUnavailable
from cuttlebone.execution.ending import EXPIRED, JobEnding
from cuttlebone.job.job import now
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.leases import RENEW_EVERY_S
from cuttlebone_abi import ErrorCode

ROUND_S: Final = 0.5
"""A job that expires does so at most this late."""
SWEEP_EVERY_S: Final = 60.0

_log = structlog.get_logger(__name__)


def recover(jobs: JobStore, ending: JobEnding, *, attempts_max: int) -> None:
    """Queue again what nobody runs any more, such as when the last host died, and end what has died with it too often.

    Raises OperatorError if the store cannot be written.
    """
    try:
        recovered = jobs.recover()
    except StoreUnavailable as error:
        raise OperatorError(
            f"the job store cannot be written: {error}; make room on its disk and start again"
        ) from None
    for job in recovered:
        if job.crashes < attempts_max:
            _log.info(
                "job goes on after a crash", job=job.id, tenant=job.tenant, crashes=job.crashes
            )
            continue
        cause = JobError(
            ErrorCode.INTERNAL,
            f"the host died {job.crashes} times while it ran this job (`attempts_max`); "
            "its operator should look into the log before the job is submitted again",
        )
        _log.error(
            "job ended, the host died with it too often",
            job=job.id,
            tenant=job.tenant,
            crashes=job.crashes,
        )
        ending.end_waiting(job, cause)


class Housekeeper:
    """One thread that renews leases, ends jobs which waited too long, wipes those kept long enough.

    Owner: the host, which starts and stops it once.
    """

    def __init__(
        self,
        jobs: JobStore,
        ending: JobEnding,
        *,
        ttl_s: int,
        clock: Callable[[], datetime] = now,
        round_s: float = ROUND_S,
        sweep_every_s: float = SWEEP_EVERY_S,
        renew_every_s: float = RENEW_EVERY_S,
    ) -> None:
        """`ttl_s` is how long jobs are kept that do not say so themselves."""
        self._clock = clock
        self._round_s = round_s
        self._sweep_every_s = sweep_every_s
        self._renew_every_s = renew_every_s
        self._jobs = jobs
        self._ending = ending
        self._ttl_s = ttl_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeper", daemon=True)

    def start(self) -> None:
        """Begin the rounds."""
        self._thread.start()

    def stop(self) -> None:
        """End them."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        swept = renewed = -math.inf
        while not self._stopping.wait(self._round_s):
            try:
                # First: whatever else takes its time, what this host runs stays its own.
                if time.monotonic() - renewed > self._renew_every_s:
                    self._jobs.renew()
                    renewed = time.monotonic()
                self.expire()
                if time.monotonic() - swept > self._sweep_every_s:
                    swept = time.monotonic()
                    self.sweep()
            except StoreUnavailable as error:
                _log.warning("housekeeping waits for the job store", reason=str(error))

    def expire(self) -> None:
        """End the queued jobs whose time to start is over."""
        for job in self._jobs.expired(self._clock()):
            self._ending.end_waiting(job, EXPIRED)

    def sweep(self) -> None:
        """Wipe the finished jobs whose time to live is over."""
        wiped = self._jobs.forget_finished_before(self._clock(), ttl_s=self._ttl_s)
        if wiped:
            _log.info("finished jobs wiped", jobs=wiped)
