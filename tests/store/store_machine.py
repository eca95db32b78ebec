"""A store and a dictionary called in the same way, in any order."""

import shutil
import tempfile
import threading
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
from cuttlebone.job.job import Job, JobFilter
from cuttlebone.job.journal import JournalEntry, JournalPart, digest
from cuttlebone.job_options import Limits, Priority
from cuttlebone.store.jobs import JobStore
from cuttlebone_abi import Envelope, JobStatus, Json
from store.store_model import ENVELOPES, Model

START = datetime(2026, 1, 1, tzinfo=UTC)
WAITING_MAX = 6
BOUND_S = 3.0


class StoreMachine(RuleBasedStateMachine):
    """Calls a store and a dictionary in the same way."""

    def __init__(self, open_store: Callable[[Path], JobStore]) -> None:
        super().__init__()
        self._open_store = open_store
        self._lives = 0
        self._folder = Path(tempfile.mkdtemp())
        self.store = open_store(self._folder / "0")
        self.models: dict[str, Model] = {}
        self.submitted = 0

    attempts = Bundle("attempts")
    """Claimed attempts, also ones that are over: what a late job thread would still hold."""

    # --- what is done ---------------------------------------------------------------------

    @initialize()
    def nothing_is_there(self) -> None:
        assert self.store.claim() is None

    @rule(
        key=st.sampled_from([None, None, "k1", "k2"]),
        request=st.sampled_from(["r1", "r2"]),
        priority=st.sampled_from(Priority),
        later_s=st.sampled_from([0, 0, 1, 61]),
    )
    def submit(self, key: str | None, request: str, priority: Priority, later_s: int) -> None:
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
        earlier = self._with_key(key)
        if earlier is not None and earlier.job.request_sha256 != request:
            self._refused(job, key, ProblemCode.IDEMPOTENCY_MISMATCH)
        elif earlier is not None:
            assert self.store.accept(
                job, waiting_max=WAITING_MAX, idempotency_key=key
            ).result().id == (earlier.job.id)
        elif len(self._in(JobStatus.QUEUED)) >= WAITING_MAX:
            self._refused(job, key, ProblemCode.QUEUE_FULL)
        else:
            assert (
                self.store.accept(job, waiting_max=WAITING_MAX, idempotency_key=key).result() == job
            )
            model = self.models[job.id] = Model(job, key, self.submitted)
            model.status(JobStatus.QUEUED)

    @rule(target=attempts)
    def claim(self) -> Job | None:
        line = self._line()
        claimed = self.store.claim()
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
        done = threading.Event()
        self.store.append(attempt, kind, data, after=done.set)
        assert done.wait(BOUND_S)
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
        self.store.record(attempt, entry)
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
        self.store.record_part(attempt, part)
        if self._runs(attempt):
            model.parts.append(part)

    @rule(attempt=attempts, envelope=st.sampled_from(ENVELOPES))
    def finish(self, attempt: Job | None, envelope: Envelope) -> None:
        if attempt is None or attempt.id not in self.models:
            return
        model = self.models[attempt.id]
        stands = model.job.envelope is None and model.job.attempt == attempt.attempt
        told = self.store.finish(
            attempt.id, attempt=attempt.attempt, envelope=envelope, accounting=None
        )
        assert told is stands
        if stands:
            model.status(JobStatus(envelope.status))
            model.job = replace(model.job, envelope=envelope)
            model.parts.clear()
            model.events.append((EventKind.RESULT, envelope.model_dump(mode="json")))

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job_id = data.draw(self._any_id())
        marked = self.store.request_cancel(job_id)
        model = self.models.get(job_id)
        if model is None:
            assert marked is None
            return
        if model.job.envelope is None:
            model.job = replace(model.job, cancel_requested=True)
        assert marked is not None
        self._same(marked, model)

    @rule(attempt=attempts)
    def release(self, attempt: Job | None) -> None:
        if attempt is None or attempt.id not in self.models:
            return
        self.store.release(attempt)
        if self._runs(attempt):
            self.models[attempt.id].status(JobStatus.QUEUED)

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        job_id = data.draw(self._any_id())
        model = self.models.get(job_id)
        final = model is not None and model.job.envelope is not None
        assert self.store.forget(job_id) is final
        if final:
            del self.models[job_id]

    @precondition(lambda self: self.store.durable)
    @rule()
    def crash_and_recover(self) -> None:
        self.store.forget("nobody")  # returns after all that was asked for before
        self._lives += 1
        folder = self._folder / str(self._lives)
        shutil.copytree(self._folder / str(self._lives - 1), folder)
        self.store.close()
        self.store = self._open_store(folder)
        recovered = {job.id for job in self.store.recover()}
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
            found = self.store.get(model.job.id)
            assert found is not None
            self._same(found, model)
            told = self.store.events(model.job.id, after=0, limit=1000)
            assert [(event.kind, event.data) for event in told] == model.events
            assert [event.number for event in told] == list(range(1, len(told) + 1))

    @invariant()
    def every_journal_is_as_it_should_be(self) -> None:
        self.store.forget("nobody")
        for model in self.models.values():
            assert list(self.store.journal(model.job.id)) == model.journal
            assert list(self.store.journal_parts(model.job.id)) == model.parts

    @invariant()
    def the_queue_is_in_line(self) -> None:
        line = self._line()
        assert self.store.waiting() == len(line)
        assert [self.store.position(model.job.id) for model in line] == list(range(len(line)))

    @invariant()
    def listings_show_every_job_once_newest_first(self) -> None:
        newest_first = sorted(self.models.values(), key=lambda one: -one.number)
        listed = [job.id for job in self.store.find(JobFilter(limit=1000))]
        assert listed == [model.job.id for model in newest_first]

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.store.close()
        shutil.rmtree(self._folder)

    # --- the dictionary -------------------------------------------------------------------

    def _with_key(self, key: str | None) -> Model | None:
        found = (model for model in self.models.values() if key is not None and model.key == key)
        return next(found, None)

    def _in(self, status: JobStatus) -> list[Model]:
        return [model for model in self.models.values() if model.job.status is status]

    def _line(self) -> list[Model]:
        return sorted(self._in(JobStatus.QUEUED), key=lambda one: (one.job.rank, one.number))

    def _runs(self, attempt: Job) -> bool:
        job = self.models[attempt.id].job
        return job.status is JobStatus.RUNNING and job.attempt == attempt.attempt

    def _any_id(self) -> st.SearchStrategy[str]:
        return st.sampled_from(sorted({*self.models, "nobody"}))

    def _refused(self, job: Job, key: str | None, code: ProblemCode) -> None:
        with pytest.raises(CallerError) as caught:
            self.store.accept(job, waiting_max=WAITING_MAX, idempotency_key=key).result()
        assert caught.value.code is code

    @staticmethod
    def _same(found: Job, model: Model) -> None:
        """All but the moment of the end, which the store chooses."""
        assert (found.finished_at is None) == (model.job.envelope is None)
        assert replace(found, finished_at=None) == model.job
