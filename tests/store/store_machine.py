"""A store and a dictionary called in the same way, in any order."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Fence, Job
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.job.journal import JournalEntry, JournalPart, digest
from cuttlebone.job_options import Limits, Priority
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Envelope, JobStatus, Json
from store.sqlite.damage import copy_state
from store.store_model import ENVELOPES, Model
from store.stores import key, settle

START = datetime(2026, 1, 1, tzinfo=UTC)
WAITING_MAX = 6


class StoreMachine(RuleBasedStateMachine):
    """Calls a store and a dictionary in the same way."""

    def __init__(self, open_store: Callable[[Path], Stores]) -> None:
        super().__init__()
        self._open_store = open_store
        self._lives = 0
        self._folder = Path(tempfile.mkdtemp())
        self.stores = open_store(self._folder / "0")
        self.models: dict[str, Model] = {}
        self.submitted = 0

    attempts = Bundle("attempts")
    """Claimed attempts, also ones that are over: what a late job thread would still hold."""

    # --- what is done ---------------------------------------------------------------------

    @initialize()
    def nothing_is_there(self) -> None:
        assert self.stores.jobs.claim() is None

    @rule(
        idempotency_key=st.sampled_from([None, None, "k1", "k2"]),
        request=st.sampled_from(["r1", "r2"]),
        priority=st.sampled_from(Priority),
        later_s=st.sampled_from([0, 0, 1, 61]),
    )
    def submit(
        self, idempotency_key: str | None, request: str, priority: Priority, later_s: int
    ) -> None:
        self.submitted += 1
        job = Job(
            id=f"job-{self.submitted}",
            spec="echo",
            input=b'{"n":%d}' % self.submitted,
            limits=Limits(),
            labels={"request": request},
            created_at=START + timedelta(seconds=later_s),
            priority=priority,
            request_sha256=request,
        )
        earlier = self._with_key(idempotency_key)
        if earlier is not None and earlier.job.request_sha256 != request:
            self._refused(job, idempotency_key, ProblemCode.IDEMPOTENCY_MISMATCH)
        elif earlier is not None:
            assert self.stores.jobs.insert(
                job, waiting_max=WAITING_MAX, idempotency_key=idempotency_key
            ).result().id == (earlier.job.id)
        elif len(self._in(JobStatus.QUEUED)) >= WAITING_MAX:
            self._refused(job, idempotency_key, ProblemCode.QUEUE_FULL)
        else:
            assert (
                self.stores.jobs.insert(
                    job, waiting_max=WAITING_MAX, idempotency_key=idempotency_key
                ).result()
                == job
            )
            model = Model(job, idempotency_key, self._next_moment(job), self.submitted)
            self.models[job.id] = model
            model.status(JobStatus.QUEUED)

    @rule(target=attempts)
    def claim(self) -> Job | None:
        line = self._line()
        claimed = self.stores.jobs.claim()
        if not line:
            assert claimed is None
            return None
        assert claimed is not None
        model = line[0]
        assert claimed.id == model.job.id
        model.job = replace(
            model.job,
            attempt=model.job.attempt + 1,
            started_at=model.job.started_at or claimed.started_at,
            owner=claimed.owner,
        )
        model.status(JobStatus.RUNNING, attempt=model.job.attempt)
        assert claimed == model.job
        return claimed

    @rule(attempt=attempts, kind=st.sampled_from([EventKind.PROGRESS, EventKind.TOKEN]))
    def append(self, attempt: Job | None, kind: EventKind) -> None:
        if attempt is None or attempt.id not in self.models:
            return
        model = self.models[attempt.id]
        data: Json = {"text": str(len(model.events))}
        self.stores.events.append(attempt.fence, kind, data)
        settle(self.stores)
        if self._runs(attempt):
            model.events.append((kind, data))
            if kind is EventKind.PROGRESS:
                model.job = replace(model.job, progress=data)

    @rule(attempt=attempts, command=st.sampled_from(["infer", "open"]), whole=st.booleans())
    def record(self, attempt: Job | None, command: str, *, whole: bool) -> None:
        if attempt is None or attempt.id not in self.models:
            return
        model = self.models[attempt.id]
        event = b'{"event":"x"}' * 20
        entry = JournalEntry(
            step=len(model.journal) + 1,
            command=command,
            command_sha256=digest(command.encode()),
            event_sha256=digest(event),
            event=event if whole or command == "infer" else None,
            reply=command.encode() if whole else None,
            pieces=("a", "b") if command == "infer" else (),
            tokens_in=3,
            tokens_out=2,
        )
        self.stores.journal.record(attempt.fence, entry)
        if self._runs(attempt):
            model.journal.append(entry)
            if entry.dear:
                model.parts = [part for part in model.parts if part.step != entry.step]

    @rule(attempt=attempts)
    def record_part(self, attempt: Job | None) -> None:
        if attempt is None or attempt.id not in self.models:
            return
        model = self.models[attempt.id]
        part = JournalPart(
            step=len(model.journal) + 1,
            number=len(model.parts),
            command_sha256=digest(b"infer_many"),
            result=b'{"text":"x"}' * 20,
        )
        self.stores.journal.record_part(attempt.fence, part)
        if self._runs(attempt):
            model.parts.append(part)

    @rule(attempt=attempts, envelope=st.sampled_from(ENVELOPES))
    def finish(self, attempt: Job | None, envelope: Envelope) -> None:
        if attempt is None or attempt.id not in self.models:
            return
        model = self.models[attempt.id]
        stands = self._runs(attempt)
        told = self.stores.jobs.finish(attempt.fence, envelope=envelope, accounting=None)
        assert told is stands
        if stands:
            self._ended(model, envelope)

    @rule(data=st.data(), envelope=st.sampled_from(ENVELOPES))
    def finish_waiting(self, data: st.DataObject, envelope: Envelope) -> None:
        """End a job that was seen waiting; by then it may be one that runs, or has ended."""
        seen = data.draw(self._any_waiting())
        model = self.models.get(seen.key.id)
        stands = model is not None and model.job.fence == seen and model.job.envelope is None
        assert self.stores.jobs.finish(seen, envelope=envelope, accounting=None) is stands
        if stands and model is not None:
            self._ended(model, envelope)

    def _ended(self, model: Model, envelope: Envelope) -> None:
        model.status(JobStatus(envelope.status))
        model.job = replace(model.job, envelope=envelope)
        model.parts.clear()
        model.events.append((EventKind.RESULT, envelope.model_dump(mode="json")))

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job_id = data.draw(self._any_id())
        marked = self.stores.jobs.request_cancel(key(job_id))
        model = self.models.get(job_id)
        if model is None:
            assert marked is None
            return
        if model.job.envelope is None:
            model.job = replace(model.job, cancel_requested=True)
        assert marked is not None
        assert marked.cancel_requested is model.job.cancel_requested
        assert (marked.status, marked.fence) == (model.job.status, model.job.fence)

    @rule(attempt=attempts)
    def release(self, attempt: Job | None) -> None:
        if attempt is None or attempt.id not in self.models:
            return
        self.stores.jobs.release(attempt.fence)
        if self._runs(attempt):
            self.models[attempt.id].status(JobStatus.QUEUED)

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        job_id = data.draw(self._any_id())
        model = self.models.get(job_id)
        final = model is not None and model.job.envelope is not None
        assert self.stores.jobs.forget(key(job_id)) is final
        if final:
            del self.models[job_id]

    @precondition(lambda self: self.stores.durable)
    @rule()
    def crash_and_recover(self) -> None:
        settle(self.stores)  # returns after all that was asked for before
        self._lives += 1
        folder = self._folder / str(self._lives)
        copy_state(self._folder / str(self._lives - 1), folder)
        self.stores.close()
        self.stores = self._open_store(folder)
        recovered = {job.id for job in self.stores.jobs.recover()}
        running = self._in(JobStatus.RUNNING)
        assert recovered == {model.job.id for model in running}
        for model in running:
            model.job = replace(model.job, crashes=model.job.crashes + 1)
            model.status(JobStatus.QUEUED)

    @rule(attempt=consumes(attempts))
    def lose_sight_of(self, attempt: Job | None) -> None:
        """Keep the bundle short."""

    # --- what has to hold -----------------------------------------------------------------

    @invariant()
    def every_job_is_as_it_should_be(self) -> None:
        for model in self.models.values():
            found = self.stores.jobs.get(model.job.key)
            assert found is not None
            self._same(found, model)
            told = self.stores.events.read(model.job.key, after=0, limit=1000)
            assert [(event.kind, event.data) for event in told] == model.events
            assert [event.number for event in told] == list(range(1, len(told) + 1))

    @invariant()
    def every_journal_is_as_it_should_be(self) -> None:
        settle(self.stores)
        for model in self.models.values():
            assert list(self.stores.journal.journal(model.job.key)) == model.journal
            assert list(self.stores.journal.parts(model.job.key)) == model.parts

    @invariant()
    def the_queue_is_in_line(self) -> None:
        line = self._line()
        assert self.stores.jobs.waiting() == len(line)
        assert [self.stores.jobs.position(model.job.key) for model in line] == list(
            range(len(line))
        )

    @invariant()
    def listings_show_every_job_once_newest_first(self) -> None:
        newest_first = sorted(self.models.values(), key=lambda one: -one.number)
        listed = [job.id for job in self.stores.jobs.find(JobFilter(limit=1000))]
        assert listed == [model.job.id for model in newest_first]

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.stores.close()
        shutil.rmtree(self._folder)

    # --- the dictionary -------------------------------------------------------------------

    def _with_key(self, idempotency_key: str | None) -> Model | None:
        found = (
            model
            for model in self.models.values()
            if idempotency_key is not None and model.key == idempotency_key
        )
        return next(found, None)

    def _in(self, status: JobStatus) -> list[Model]:
        return [model for model in self.models.values() if model.job.status is status]

    def _line(self) -> list[Model]:
        return sorted(self._in(JobStatus.QUEUED), key=lambda one: one.rank)

    def _next_moment(self, job: Job) -> datetime:
        """When a job is accepted: never before those that are kept, whatever its clock said."""
        newest = max(self.models.values(), key=lambda one: one.number, default=None)
        if newest is None:
            return job.created_at
        return max(job.created_at, newest.accepted_at + timedelta(microseconds=1))

    def _any_waiting(self) -> st.SearchStrategy[Fence]:
        nobody = Fence(key("nobody"), 0, "")
        queued = [replace(model.job, owner="").fence for model in self.models.values()]
        return st.sampled_from([nobody, *queued])

    def _runs(self, attempt: Job) -> bool:
        job = self.models[attempt.id].job
        return job.status is JobStatus.RUNNING and job.attempt == attempt.attempt

    def _any_id(self) -> st.SearchStrategy[str]:
        return st.sampled_from(sorted({*self.models, "nobody"}))

    def _refused(self, job: Job, idempotency_key: str | None, code: ProblemCode) -> None:
        with pytest.raises(CallerError) as caught:
            self.stores.jobs.insert(
                job, waiting_max=WAITING_MAX, idempotency_key=idempotency_key
            ).result()
        assert caught.value.code is code

    @staticmethod
    def _same(found: Job, model: Model) -> None:
        """All but the moment of the end, which the store chooses."""
        assert (found.finished_at is None) == (model.job.envelope is None)
        assert replace(found, finished_at=None) == model.job
