"""Takes submissions in: what is asked for is checked once, and becomes a job that waits."""

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta

from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.execution.accepted_specs import AcceptedSpecs
from cuttlebone.execution.queue import JobQueue
from cuttlebone.job.job import Admitted, Job, Submission, now
from cuttlebone.metrics import HostMetrics
from cuttlebone.specs.block_registry import DIGEST_PREFIX
from cuttlebone.specs.catalog import Catalog
from cuttlebone.specs.loading import LoadedSpec
from cuttlebone_abi import dump_json


class Admission:
    """The one way to a job, whoever asks for it. Any thread may use it; it keeps nothing."""

    def __init__(
        self,
        catalog: Catalog,
        specs: AcceptedSpecs,
        queue: JobQueue,
        callbacks: CallbackPolicy,
        metrics: HostMetrics,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._catalog = catalog
        self._specs = specs
        self._queue = queue
        self._callbacks = callbacks
        self._metrics = metrics
        self._clock = clock

    def admit(
        self,
        submission: Submission,
        *,
        idempotency_key: str | None = None,
        tenant_waiting_max: int | None = None,
    ) -> Future[Admitted]:
        """Check a submission and put its job into the queue, or find the one of the same request before.

        The specs are those that the catalog saw last. The future ends once the job is durable, so
        that many can be on their way at once. Both raise CallerError: unknown_spec, spec_unusable,
        schema_validation_failed, invalid_body for a callback that is not allowed, queue_full,
        quota_exceeded, idempotency_mismatch, job_exists, stopping; and StoreUnavailable.
        """
        loaded = self._catalog.get(submission.spec)
        loaded.io_schemas.check_input(submission.input, f"the spec `{loaded.spec.name}`")
        if submission.callback_url is not None:
            self._callbacks.target(submission.callback_url)
        job = _new_job(submission, loaded, self._clock())
        admitted: Future[Admitted] = Future()
        # Before it can be started, as what it was accepted for must be there by then.
        self._specs.hold(loaded)
        try:
            enqueued = self._queue.enqueue(
                job,
                spec_document=loaded.document,
                idempotency_key=idempotency_key,
                tenant_waiting_max=tenant_waiting_max,
            )
        except BaseException:
            self._specs.release(job.spec_sha256)
            raise
        enqueued.add_done_callback(lambda settled: self._settle(job, settled, admitted))
        return admitted

    def _settle(self, job: Job, settled: Future[Job], admitted: Future[Admitted]) -> None:
        error = settled.exception()
        if error is not None:
            self._specs.release(job.spec_sha256)
            admitted.set_exception(error)
            return
        kept = settled.result()
        if kept is job:
            self._metrics.job_accepted(job.spec)
        else:
            self._specs.release(job.spec_sha256)
        admitted.set_result(Admitted(kept, replayed=kept is not job))


def _new_job(submission: Submission, loaded: LoadedSpec, moment: datetime) -> Job:
    waits_s = submission.expires_in_s
    written_input = dump_json(submission.input)
    limits, stated = loaded.limits, submission.limits
    return Job(
        id=submission.job_id or uuid.uuid4().hex,
        spec=loaded.spec.name,
        input=written_input,
        limits=limits if stated is None else limits.narrowed(stated),
        labels=dict(submission.labels),
        created_at=moment,
        tenant=submission.tenant,
        priority=submission.priority,
        ttl_s=submission.ttl_s,
        expires_at=None if waits_s is None else moment + timedelta(seconds=waits_s),
        recording=submission.record or loaded.spec.record,
        callback_url=submission.callback_url,
        block_sha256=loaded.block.digest.removeprefix(DIGEST_PREFIX),
        spec_sha256=loaded.sha256,
        request_sha256=submission.digest(written_input),
    )
