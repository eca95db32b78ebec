"""The composition root: opens every part of a host in order, and closes them in reverse."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from cuttlebone.callbacks.opening import open_callbacks
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.inference import EndpointInference
from cuttlebone.endpoints.opening import directory_of
from cuttlebone.execution.accepted_specs import AcceptedSpecs
from cuttlebone.execution.admission import Admission
from cuttlebone.execution.ending import JobEnding
from cuttlebone.execution.housekeeping import Housekeeper, recover
from cuttlebone.execution.queue import JobQueue
from cuttlebone.execution.running_jobs import RunningJobs
from cuttlebone.execution.threads import JobThreads
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.execution.worker import Worker
from cuttlebone.job.host_time import HostTime
from cuttlebone.metrics import HostMetrics
from cuttlebone.sandbox import Block, Guest, GuestLimits, Layer, Sandbox
from cuttlebone.service.host import Host
from cuttlebone.service.host_metrics import watch_figures
from cuttlebone.service.host_status import HostStatus
from cuttlebone.service.job_service import JobService
from cuttlebone.service.spec_service import SpecService
from cuttlebone.settings import Settings
from cuttlebone.specs.block_registry import BlockRegistry
from cuttlebone.specs.catalog import Catalog, spec_files_in
from cuttlebone.specs.loading import load_document
from cuttlebone.store.memory import open_memory_stores
from cuttlebone.store.sqlite import open_sqlite_stores
from cuttlebone.store.stores import Stores


class Modules(Protocol):
    """What admits blocks and opens guests: a sandbox, or a fake one."""

    def admit(self, wasm: bytes) -> Block:
        """Check a module; raise BlockRefused."""

    def open_guest(self, block: Block, limits: GuestLimits) -> Guest:
        """Make a guest of an admitted block."""

    @property
    def layers(self) -> Mapping[Layer, str | None]:
        """Each layer around a guest: None where it holds, else why it does not."""

    @property
    def cache_damaged(self) -> int:
        """How many compiled modules on disk were found damaged."""


@contextmanager
def open_host(settings: Settings, *, spec_files: Sequence[Path] | None = None) -> Iterator[Host]:
    """Run a host with a real sandbox and real models while the body runs.

    `spec_files` are served instead of those in `settings.specs`. Raises OperatorError for a
    specs folder or a model file that cannot be used at all, and for models without the extra that
    runs them; a spec with a fault is only reported.
    """
    endpoints = directory_of(settings)
    with (
        Sandbox(settings.cache_folder / "modules", isolation=settings.isolation) as sandbox,
        open_host_with(settings, sandbox, endpoints, spec_files=spec_files) as host,
    ):
        yield host


@contextmanager
def open_host_with(
    settings: Settings,
    modules: Modules,
    endpoints: EndpointDirectory,
    *,
    spec_files: Sequence[Path] | None = None,
    time: HostTime | None = None,
) -> Iterator[Host]:
    """Run a host with the given sandbox, endpoints and time: the seam at which tests put fakes."""
    time = time or HostTime.of()
    with ExitStack() as stack:
        # Before the blocks: it locks the state folder, or refuses one that is in use.
        metrics = HostMetrics(version=version("cuttlebone"))
        stores = _stores(settings, metrics, time)
        stack.callback(stores.close)
        blocks = BlockRegistry(_blocks_folder(settings, stack), modules.admit)
        yield stack.enter_context(
            _running(settings, modules, endpoints, stores, blocks, spec_files, metrics, time)
        )


@contextmanager
def _running(
    settings: Settings,
    modules: Modules,
    endpoints: EndpointDirectory,
    stores: Stores,
    blocks: BlockRegistry,
    spec_files: Sequence[Path] | None,
    metrics: HostMetrics,
    time: HostTime,
) -> Iterator[Host]:
    callbacks = open_callbacks(settings, stores, metrics, time)
    catalog = Catalog(
        _spec_lister(settings, spec_files),
        admit=modules.admit,
        limits_max=settings.limits_max,
        blocks=blocks.path,
    )
    queue = JobQueue(
        stores.jobs,
        waiting_max=settings.jobs_waiting_max,
        tenant_running_max=settings.tenant_jobs_running_max,
    )
    watchdog, running = Watchdog(), RunningJobs()
    accepted = AcceptedSpecs(
        catalog, stores.jobs, partial(load_document, admit=modules.admit, blocks=blocks.path)
    )
    ending = JobEnding(stores.jobs, accepted, running, metrics)
    worker = Worker(
        queue=queue,
        stores=stores,
        specs=accepted,
        open_guest=modules.open_guest,
        inference=EndpointInference(endpoints),
        watchdog=watchdog,
        running=running,
        ending=ending,
        journal_bytes_max=settings.journal_bytes_max,
    )
    threads = JobThreads(worker, count=settings.jobs_running_max)
    jobs = JobService(
        catalog=catalog,
        stores=stores,
        admission=Admission(catalog, accepted, queue, callbacks.policy, metrics, time.clock),
        ending=ending,
        endpoints=endpoints,
        tenant_running_max=settings.tenant_jobs_running_max,
    )
    layers = {str(layer): missing for layer, missing in modules.layers.items()}
    host = Host(
        jobs,
        SpecService(catalog, blocks),
        HostStatus(endpoints, metrics, layers, stores.trouble),
        settings,
    )
    watch_figures(metrics, stores, endpoints, cache_damaged=lambda: modules.cache_damaged)
    housekeeper = Housekeeper(stores.jobs, ending, ttl_s=settings.jobs_kept_s, clock=time.clock)
    with ExitStack() as stack:
        catalog.refresh()
        recover(stores.jobs, ending, attempts_max=settings.attempts_max)
        endpoints.start()
        stack.callback(endpoints.stop)
        watchdog.start()
        stack.callback(watchdog.stop)
        housekeeper.start()
        stack.callback(housekeeper.stop)
        callbacks.courier.start()
        stack.callback(callbacks.courier.stop)
        threads.start()
        stack.callback(partial(threads.stop, grace_s=settings.grace_s))
        yield host


def _stores(settings: Settings, metrics: HostMetrics, time: HostTime) -> Stores:
    if settings.state is None:
        return open_memory_stores(kept_max=settings.jobs_kept_max, clock=time.clock)
    return open_sqlite_stores(settings.state, metrics=metrics, clock=time.clock)


def _blocks_folder(settings: Settings, stack: ExitStack) -> Path:
    """Where uploaded blocks are kept: as long as the jobs, which may name them."""
    if settings.state is None:
        return Path(stack.enter_context(TemporaryDirectory(prefix="cuttlebone-blocks-")))
    return settings.state / "blocks"


def _spec_lister(
    settings: Settings, spec_files: Sequence[Path] | None
) -> Callable[[], Sequence[Path]]:
    if spec_files is not None:
        return lambda: spec_files
    return partial(spec_files_in, settings.specs)
