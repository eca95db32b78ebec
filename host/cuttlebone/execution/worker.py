"""A job thread's work: take a job, build its scope and guest, see it to its end."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import structlog

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import GrantedModel, JobScope
from cuttlebone.errors import StoreUnavailable
from cuttlebone.execution.accepted_specs import AcceptedSpecs
from cuttlebone.execution.accounting import accounting_of
from cuttlebone.execution.ending import CANCELLED, NO_USAGE, STOPPING, JobEnding
from cuttlebone.execution.event_log import EventLog
from cuttlebone.execution.queue import JobQueue
from cuttlebone.execution.recorder import Recorder
from cuttlebone.execution.runner import GUEST_FAULTS, failure_of, internal_fault, run_job
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.generation.inference import Inference
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Accounting, Job
from cuttlebone.job_options import Priority
from cuttlebone.sandbox import Block, Guest, GuestLimits
from cuttlebone.specs.loading import LoadedSpec
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Envelope, Failed, Failure

OpenGuest = Callable[[Block, GuestLimits], Guest]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Worker:
    """Runs jobs one after another. Immutable: all job threads share one."""

    queue: JobQueue
    stores: Stores
    specs: AcceptedSpecs
    open_guest: OpenGuest
    inference: Inference
    watchdog: Watchdog
    running: RunningJobs
    ending: JobEnding
    journal_bytes_max: int

    def run(self) -> None:
        """Take jobs until the queue is closed."""
        while True:
            try:
                job = self.queue.take()
                if job is None:
                    return
                self._see_to_its_end(job)
            except StoreUnavailable as error:
                # Only a host that stops is told this, see `Stores.hurry`.
                _log.error("what runs is left to the next start", reason=str(error))

    def _see_to_its_end(self, job: Job) -> None:
        budget = Budget(job.limits)
        envelope, accounting = self._run_one(job, budget)
        if budget.end is STOPPING and self.stores.durable:
            self.stores.jobs.release(job.fence)
            _log.info(
                "job put back to the queue, the next start goes on with it",
                job=job.id, tenant=job.tenant, spec=job.spec, attempt=job.attempt,
            )  # fmt: skip
        else:
            self.ending.end(job, envelope, accounting)

    def _run_one(self, job: Job, budget: Budget) -> tuple[Envelope, Accounting | None]:
        with self.running.track(job.key, budget), self.watchdog.watch(budget):
            try:
                # A cancel that came before the job could be tracked has left its mark in the store.
                current = self.stores.jobs.status(job.key)
                if current is not None and current.cancel_requested:
                    budget.stop(CANCELLED)
                return self._drive(job, budget)
            except Exception:  # noqa: BLE001  # the last resort of this thread: the job still ends
                return _never_ran(internal_fault(job.id, job.tenant)), None

    def _drive(self, job: Job, budget: Budget) -> tuple[Envelope, Accounting | None]:
        try:
            loaded = self.specs.of(job)
            guest = self.open_guest(loaded.block, GuestLimits.of(job.limits))
        except GUEST_FAULTS as error:
            return _never_ran(failure_of(error)), None
        with closing(guest), closing(self._scope(job, loaded, budget)) as scope:
            journal = self.stores.journal
            recorder = Recorder(
                journal.journal(job.key),
                partial(journal.record, job.fence),
                parts=journal.parts(job.key),
                keep_part=partial(journal.record_part, job.fence),
                recording=job.recording,
                bytes_max=self.journal_bytes_max,
            )
            envelope = run_job(guest, scope, loaded.io_schemas, job.input, recorder)
            return envelope, accounting_of(
                job, scope, guest.accounting, duration_ms=envelope.usage.duration_ms
            )

    def _scope(self, job: Job, loaded: LoadedSpec, budget: Budget) -> JobScope:
        spec = loaded.spec
        model = None if spec.model is None else GrantedModel(spec.model, self.inference, spec.infer)
        return JobScope(
            job=job.id,
            tenant=job.tenant,
            grants=loaded.grants,
            model=model,
            events=EventLog(
                job.fence,
                self.stores.events,
                progress_told=self.stores.events.count(job.key, EventKind.PROGRESS),
            ),
            budget=budget,
            interactive=job.priority is Priority.INTERACTIVE,
        )


def _never_ran(failure: Failure) -> Envelope:
    return Failed(error=failure, usage=NO_USAGE)
