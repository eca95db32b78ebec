"""Running one case: a fresh folder, a whole host, a scripted or a real model, one job."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cuttlebone.assembly import Modules, open_host_with
from cuttlebone.authoring.case import Case
from cuttlebone.authoring.comparison import Outcome
from cuttlebone.authoring.folder import BlockFolder
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.endpoints.opening import endpoint_of_file
from cuttlebone.errors import OperatorError
from cuttlebone.files.paths import UnusablePath
from cuttlebone.files.patterns import parse_pattern
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import Job, Submission
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from cuttlebone.testing import ScriptedModel


def run_case(
    folder: BlockFolder, case: Case, modules: Modules, settings: Settings, model: Path | None = None
) -> Outcome:
    """Run the job of a case in a host of its own.

    `modules` is the sandbox; `model` is a GGUF file to ask instead of the scripted answers. Raises
    OperatorError for a spec with a fault and CallerError for an input that is refused.
    """
    with TemporaryDirectory(prefix="cuttlebone-case-") as name:
        spec_path = lay_out(folder, case, Path(name))
        endpoints = _endpoints(folder, case, settings, model)
        with open_host_with(settings, modules, endpoints, spec_files=[spec_path]) as host:
            for fault in host.specs.faults().values():
                raise OperatorError(fault.replace(name, str(folder.path)))
            submission = Submission(folder.spec.name, case.input, case.limits)
            with _cancelled_at_exit(host, host.jobs.submit(submission)) as job:
                return _outcome(host, job)


def trial_settings(stated: Settings) -> Settings:
    """The operator's settings, less what must not reach a case: other models, and a state folder."""
    return stated.model_copy(
        update={"models": {}, "state": None, "jobs_running_max": 1, "grace_s": 0.2}
    )


def lay_out(folder: BlockFolder, case: Case, into: Path) -> Path:
    """Put spec, block, schemas and the files of a case into an empty folder; return the spec's path.

    Raises OperatorError.
    """
    named = [folder.spec.input, folder.spec.output]
    needed = [folder.spec.block, *(schema for schema in named if isinstance(schema, str))]
    for name in needed:
        _copy(folder.path / name, into / name)
    for path, content in case.contents().items():
        file = into / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    for pattern in folder.spec.capabilities.read:
        _make_root(pattern, folder.path, into)
    return Path(shutil.copy(folder.spec_path, into))


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise OperatorError(f"there is no {source}; `cuttlebone block build` makes the module")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _make_root(pattern: str, original: Path, into: Path) -> None:
    """Make the folder that a pattern grants, unless it is a file or lies elsewhere."""
    try:
        relative = Path(*parse_pattern(pattern, ("base",)).literal)
    except UnusablePath:
        return  # the host says so
    if pattern.startswith("/") or relative.parts[:1] != ("base",):
        return
    inside = relative.relative_to("base")
    if not (original / inside).is_file() and not (into / inside).exists():
        (into / inside).mkdir(parents=True)


def _endpoints(
    folder: BlockFolder, case: Case, settings: Settings, model: Path | None
) -> EndpointDirectory:
    role = folder.spec.model
    if role is None:
        return EndpointDirectory({})
    if model is not None:
        return EndpointDirectory({role: endpoint_of_file(model, settings, name=role)})
    scripted = LocalEndpoint(lambda _report: scripted_model(case), name=role)
    return EndpointDirectory({role: scripted})


def scripted_model(case: Case) -> ScriptedModel:
    """The model that says what a case has scripted."""
    answers: dict[str, str] = {}
    for answer in case.model:
        answers.setdefault(answer.when, answer.say)
    return ScriptedModel(answers, context_tokens=case.context_tokens, cells=2 * case.context_tokens)


@contextmanager
def _cancelled_at_exit(host: Host, job: Job) -> Iterator[Job]:
    """Leave no job behind when its watcher is interrupted."""
    try:
        yield job
    finally:
        host.jobs.cancel(job.key)


def _outcome(host: Host, job: Job) -> Outcome:
    changed = threading.Event()
    with host.jobs.watch(job.key, changed.set):
        while (envelope := host.jobs.get(job.key).envelope) is None:
            changed.wait()
            changed.clear()
    return Outcome(envelope, _progress(host, job))


def _progress(host: Host, job: Job) -> tuple[object, ...]:
    told: list[JobEvent] = []
    while page := host.jobs.events(job.key, after=told[-1].number if told else 0):
        told.extend(page)
    return tuple(event.data for event in told if event.kind is EventKind.PROGRESS)
