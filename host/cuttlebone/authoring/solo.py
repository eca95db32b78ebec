"""One job without a host around it: a block or a spec, an input, and whoever watches."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from cuttlebone.authoring.case import CONTEXT_TOKENS
from cuttlebone.authoring.tracing import Tell, TracingGuest
from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import EventSink, GrantedModel, JobScope
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.endpoints.inference import EndpointInference
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.endpoints.opening import endpoint_of_file
from cuttlebone.errors import JobError
from cuttlebone.execution.ending import NO_USAGE
from cuttlebone.execution.runner import failure_of, run_job
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.job.job import TENANT
from cuttlebone.job_options import Limits
from cuttlebone.sandbox import Guest, GuestAccounting, GuestLimits, Sandbox
from cuttlebone.settings import Settings
from cuttlebone.signals import next_wake, on_stop_signal
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.specs.loading import LoadedSpec, load_spec
from cuttlebone.specs.spec import SPEC_SUFFIXES, Capabilities, Spec, read_spec
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import Envelope, ErrorCode, Failed, Json, dump_json

ROLE: Final = "model"
"""The role of the model of a module that runs without a spec."""

_INTERRUPTED: Final = JobError(ErrorCode.CANCELLED, "cancelled by a stop signal")


@dataclass(frozen=True, slots=True)
class SoloFile:
    """A file that is to be run, and with what."""

    path: Path
    """Of a spec, or of a module."""
    value: Json
    read: Sequence[str] = ()
    """What a module may read, as in a spec."""
    limits: Limits | None = None
    """Narrows those of the spec."""
    model: Path | None = None
    """A GGUF file to ask; without it the scripted `answers`: what to say to prompts with a text in them."""
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SoloJob:
    """What is to be run, loaded."""

    loaded: LoadedSpec
    value: Json
    limits: Limits
    endpoint: Endpoint
    """Served under whatever role the spec names."""


@dataclass(frozen=True, slots=True)
class SoloEnd:
    """How it ended, and what its guest used."""

    envelope: Envelope
    accounting: GuestAccounting


def run_file(
    file: SoloFile, settings: Settings, sink: EventSink, trace: Tell | None = None
) -> SoloEnd:
    """Run one job of a file to its end, telling `sink` how it goes and `trace` all that is said.

    A stop signal cancels it. Raises OperatorError, and CallerError for an input that does not fit.
    """

    def wrap(guest: Guest) -> Guest:
        return guest if trace is None else TracingGuest(guest, trace)

    with (
        Sandbox(settings.cache_folder / "modules", isolation=settings.isolation) as sandbox,
        _endpoint(file, settings) as endpoint,
    ):
        loaded = load(file.path, file.read, sandbox, settings.limits_max)
        limits = loaded.limits if file.limits is None else loaded.limits.narrowed(file.limits)
        return run_alone(SoloJob(loaded, file.value, limits, endpoint), sandbox, sink, wrap)


def _endpoint(file: SoloFile, settings: Settings) -> LocalEndpoint:
    if file.model is not None:
        return endpoint_of_file(file.model, settings)
    return LocalEndpoint(
        lambda _report: ScriptedModel(
            file.answers, context_tokens=CONTEXT_TOKENS, cells=2 * CONTEXT_TOKENS
        )
    )


def load(path: Path, read: Sequence[str], sandbox: Sandbox, limits_max: Limits) -> LoadedSpec:
    """Load a spec file, or a module that may read `read` and what the current folder makes of it.

    Raises OperatorError.
    """
    if path.suffix in SPEC_SUFFIXES:
        return load_spec(read_spec(path), path, admit=sandbox.admit, limits_max=limits_max)
    spec = Spec(
        name="block",
        description="A module that runs without a spec.",
        block=str(path.absolute()),
        model=ROLE,
        capabilities=Capabilities(read=tuple(read)),
    )
    # Beside nothing: paths of the input and of `read` start from the current folder.
    return load_spec(spec, Path.cwd() / path.name, admit=sandbox.admit, limits_max=limits_max)


def run_alone(
    job: SoloJob, sandbox: Sandbox, sink: EventSink, wrap: Callable[[Guest], Guest]
) -> SoloEnd:
    """Run a job to its end; `wrap` may put another guest around the real one.

    A stop signal cancels it. Raises CallerError for an input that does not fit.
    """
    job.loaded.io_schemas.check_input(job.value, job.loaded.path.name)
    try:
        guest = wrap(sandbox.open_guest(job.loaded.block, GuestLimits.of(job.limits)))
    except JobError as error:
        return SoloEnd(Failed(error=failure_of(error), usage=NO_USAGE), GuestAccounting())
    budget = Budget(job.limits)
    with (
        closing(guest),
        closing(_scope(job, budget, sink)) as scope,
        Watchdog() as watchdog,
        watchdog.watch(budget),
    ):
        envelope = _in_a_thread(
            lambda: run_job(guest, scope, job.loaded.io_schemas, dump_json(job.value)), budget
        )
        return SoloEnd(envelope, guest.accounting)


def _scope(job: SoloJob, budget: Budget, sink: EventSink) -> JobScope:
    spec = job.loaded.spec
    model = None if spec.model is None else _granted(spec.model, job.endpoint, spec.infer)
    return JobScope(
        job="solo",
        tenant=TENANT,
        grants=job.loaded.grants,
        model=model,
        events=sink,
        budget=budget,
    )


def _granted(role: str, endpoint: Endpoint, defaults: InferDefaults) -> GrantedModel:
    inference = EndpointInference(EndpointDirectory({role: endpoint}))
    return GrantedModel(role, inference, defaults)


def _in_a_thread(run: Callable[[], Envelope], budget: Budget) -> Envelope:
    """Leave the main thread free for signals, which may then stop the budget."""
    envelopes: list[Envelope] = []
    # A SimpleQueue, because its `put` may be called by a signal handler whatever is going on.
    wakes: SimpleQueue[bool] = SimpleQueue()

    def work() -> None:
        try:
            envelopes.append(run())
        finally:
            wakes.put(False)

    thread = threading.Thread(target=work, name="solo-job", daemon=True)
    with on_stop_signal(lambda: wakes.put(True)):
        thread.start()
        while next_wake(wakes):
            budget.stop(_INTERRUPTED)
    thread.join()
    return envelopes[0]
