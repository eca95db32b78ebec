"""What clients saw of a host, and the check made of it afterwards: which promises were broken.

A reading is placed between the moments at which its request was sent and its answer was there. Of
two readings whose times do not overlap the later one may not show an older state. That is judged
without looking into the host.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cuttlebone_abi import Envelope, JobStatus, Json

_FINAL: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer about a job. `stage` is None if the host did not know the job."""

    job: str
    sent_s: float
    answered_s: float
    stage: int | None
    envelope: Envelope | None = None


@dataclass(slots=True)
class History:
    """Everything that the clients of one host saw. Any thread may note."""

    accepted: dict[str, Json] = field(default_factory=dict)
    """Input of each job that was answered with 202."""
    readings: list[Reading] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_accepted(self, job: str, value: Json, sent_s: float) -> None:
        """A submission was answered; from now on the job has to be there."""
        with self._lock:
            self.accepted[job] = value
            self.readings.append(Reading(job, sent_s, time.monotonic(), 0))

    def note(self, reading: Reading) -> None:
        """A job was read."""
        with self._lock:
            self.readings.append(reading)

    def known(self) -> list[str]:
        """The jobs that were accepted so far."""
        with self._lock:
            return list(self.accepted)


def stage(status: JobStatus, attempt: int) -> int:
    """A number that only grows in the life of a job: it waits, runs, waits again after a crash, ends."""
    if status.final:
        return _FINAL
    return 2 * attempt + (1 if status is JobStatus.QUEUED else 0)


def violations(history: History) -> list[str]:
    """Every promise that was broken: jobs lost, states that went back, envelopes that changed."""
    by_job: dict[str, list[Reading]] = defaultdict(list)
    for reading in history.readings:
        by_job[reading.job].append(reading)
    return [found for job in history.accepted for found in _violations_of(job, by_job[job])]


def _violations_of(job: str, readings: Sequence[Reading]) -> list[str]:
    found = []
    newest = -1  # the latest stage in any answer that was there before the reading was sent
    answered = sorted(readings, key=lambda one: one.answered_s)
    at = 0
    for reading in sorted(readings, key=lambda one: one.sent_s):
        while at < len(answered) and answered[at].answered_s < reading.sent_s:
            newest = max(newest, answered[at].stage or 0)
            at += 1
        if reading.stage is None:
            if newest >= 0:
                found.append(f"{job} was accepted and then unknown")
        elif reading.stage < newest:
            found.append(f"{job} went back from stage {newest} to {reading.stage}")
    envelopes = {one.envelope.model_dump_json() for one in readings if one.envelope is not None}
    if not envelopes:
        found.append(f"{job} was accepted and has no envelope")
    elif len(envelopes) > 1:
        found.append(f"{job} has {len(envelopes)} envelopes")
    return found
