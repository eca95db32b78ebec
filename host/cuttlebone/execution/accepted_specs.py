"""The specs that jobs were accepted for: a job runs under its own, whatever has become of the files since."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

import structlog

from cuttlebone.errors import CallerError, JobError
from cuttlebone.job.job import Job
from cuttlebone.specs.catalog import Catalog
from cuttlebone.specs.loading import LoadedSpec
from cuttlebone.store.jobs import JobStore
from cuttlebone_abi import ErrorCode, load_json

LOADED_MAX: Final = 32
"""Specs that only jobs name which are kept open. Others are loaded again from their documents."""

LoadDocument = Callable[[bytes], LoadedSpec]
"""Loads what jobs were accepted for; raises JobError `input_changed`."""

_log = structlog.get_logger(__name__)


class AcceptedSpecs:
    """Finds the spec of each job, by the digest that stands in it. Any thread may use it.

    Invariants: `_jobs` counts the jobs that have not ended, by the digest of their spec; `_loaded`
    has only digests that are counted there, and at most `loaded_max`, those asked for last.
    """

    def __init__(
        self,
        catalog: Catalog,
        jobs: JobStore,
        load: LoadDocument,
        *,
        loaded_max: int = LOADED_MAX,
    ) -> None:
        """To be made before any job of `jobs` is accepted or ended."""
        self._catalog = catalog
        self._document = jobs.spec_document
        self._load = load
        self._loaded_max = loaded_max
        self._jobs = Counter(jobs.unfinished_by_spec())
        self._loaded: OrderedDict[str, LoadedSpec] = OrderedDict()
        self._lock = threading.Lock()

    def hold(self, loaded: LoadedSpec) -> None:
        """A job is about to be accepted for this spec."""
        with self._lock:
            self._jobs[loaded.sha256] += 1
            self._keep(loaded.sha256, loaded)

    def release(self, sha256: str | None) -> None:
        """A job with that spec has ended, or was not accepted after all."""
        with self._lock:
            if sha256 is None or sha256 not in self._jobs:
                return
            self._jobs[sha256] -= 1
            if self._jobs[sha256] == 0:
                del self._jobs[sha256]
                self._loaded.pop(sha256, None)

    def of(self, job: Job) -> LoadedSpec:
        """What the job was accepted for; raise JobError `input_changed` where that is gone."""
        sha256 = job.spec_sha256
        if sha256 is None:
            return self._served(job)
        with self._lock:
            loaded = self._loaded.get(sha256)
        if loaded is None:
            loaded = self._found(job, sha256)
        with self._lock:
            if sha256 in self._jobs:
                self._keep(sha256, loaded)
        return loaded

    def _keep(self, sha256: str, loaded: LoadedSpec) -> None:
        self._loaded[sha256] = loaded
        self._loaded.move_to_end(sha256)
        while len(self._loaded) > self._loaded_max:
            self._loaded.popitem(last=False)

    def _found(self, job: Job, sha256: str) -> LoadedSpec:
        served = self._catalog.specs().get(job.spec)
        if served is not None and served.sha256 == sha256:
            return served
        document = self._document(sha256)
        if document is None:
            raise _gone(job, "the document of that spec is not kept any more")
        try:
            return self._load(document)
        except JobError as error:
            _log.warning(
                "a job cannot run as it was accepted",
                job=job.id,
                tenant=job.tenant,
                reason=str(error.__cause__ or error),
            )
            raise

    def _served(self, job: Job) -> LoadedSpec:
        """The spec as it is now, for a job that was kept before its spec was noted: if it fits that one."""
        try:
            loaded = self._catalog.get(job.spec)
            loaded.io_schemas.check_input(load_json(job.input), f"the spec `{loaded.spec.name}`")
        except CallerError as error:
            raise _gone(job, error.message) from None
        return loaded


def _gone(job: Job, what: str) -> JobError:
    return JobError(
        ErrorCode.INPUT_CHANGED,
        f"the spec `{job.spec}` is not what it was when this job was accepted: {what}; "
        "submit the job again",
    )
