"""`cuttlebone run`: one job in a host of its own, without a socket."""

import logging
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated

import typer

from cuttlebone.assembly import open_host
from cuttlebone.authoring.choosing import model_asked, one_spec_file
from cuttlebone.cli.host_options import (
    StatedSettings,
    demand_model_files,
    stated_limits,
    takes_settings,
)
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.cli.options import (
    InputOption,
    JsonFlag,
    LimitsOption,
    read_input,
    read_limits,
)
from cuttlebone.cli.outcome import reporting, status_of
from cuttlebone.cli.output import write_json
from cuttlebone.cli.watching import EventView, stderr_console
from cuttlebone.errors import OperatorError
from cuttlebone.job.events import EventKind, JobEvent
from cuttlebone.job.job import JobKey, Submission
from cuttlebone.service.job_service import JobService
from cuttlebone.service.spec_service import SpecService
from cuttlebone.settings import Settings
from cuttlebone.signals import next_wake, on_stop_signal
from cuttlebone_abi import Envelope

app = typer.Typer()


@app.command(
    epilog="Example: cuttlebone run summarize.yaml --model smollm2=demo --input "
    '\'{"path": "texts/tide-mill.txt"}\'',
)
@takes_settings(
    "models",
    "isolation",
    "cache",
    "context_tokens_max",
    "kv_memory_bytes",
    "generations_max",
    "kv_layout",
    "threads",
)
def run(
    stated: StatedSettings,
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC.yaml|FOLDER", help="The spec file, or a folder with only one."
        ),
    ],
    *,
    stated_input: InputOption,
    limits: LimitsOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Run one job in a host of its own and write its envelope.

    Progress and text show on stderr if it is a terminal. Ctrl-C cancels the job. The exit status
    is 0 if the job completed, 1 if it failed, 2 if it was refused and 3 if it was cancelled.
    """
    log_to_stderr(level=logging.WARNING)
    view = EventView(stderr_console(), time.monotonic)
    watched = sys.stderr.isatty() and not as_json
    with reporting(as_json=as_json):
        value, narrowed = read_input(stated_input), stated_limits(read_limits(limits))
        settings = stated.read()
        # Alone and in memory: a state folder of the environment belongs to a host that serves.
        settings = settings.model_copy(
            update={"jobs_running_max": 1, "state": None, "callback_hosts": ()}
        )
        spec_file = one_spec_file(spec)
        _demand_model(spec_file, settings)
        with open_host(settings, spec_files=[spec_file]) as host, closing(view):
            submission = Submission(_only_spec(host.specs), value, narrowed)
            show = (lambda event: view.show(event.kind, event.data)) if watched else _ignore
            envelope = carry_out(host.jobs, submission, show)
    write_json(envelope.model_dump(mode="json"), pretty=not as_json)
    raise typer.Exit(status_of(envelope))


def _demand_model(spec_file: Path, settings: Settings) -> None:
    """Raise OperatorError where a model is missing, before anything is started."""
    role = model_asked(spec_file)
    if role is not None and role not in settings.models:
        raise OperatorError(
            f"{spec_file} asks for the model `{role}`, and none is given: add --model "
            f"{role}=FILE.gguf, or --model {role}=demo for the packaged one"
        )
    demand_model_files(settings)


def carry_out(
    jobs: JobService, submission: Submission, show: Callable[[JobEvent], None]
) -> Envelope:
    """Run a job to its end, showing its events; raise CallerError if it is refused.

    A stop signal cancels the job, and its envelope is then returned like any other.
    """
    # A SimpleQueue, because its `put` may be called by a signal handler whatever is going on.
    wakes: SimpleQueue[bool] = SimpleQueue()
    after = 0
    with ExitStack() as stack:
        stack.enter_context(on_stop_signal(lambda: wakes.put(True)))
        job = jobs.submit(submission)
        stack.enter_context(jobs.watch(job.key, lambda: wakes.put(False)))
        while True:
            for event in jobs.events(job.key, after=after):
                after = event.number
                show(event)
                if event.kind is EventKind.RESULT:
                    return _envelope(jobs, job.key)
            if next_wake(wakes):
                jobs.cancel(job.key)


def _envelope(jobs: JobService, key: JobKey) -> Envelope:
    envelope = jobs.get(key).envelope
    assert envelope is not None  # noqa: S101  # the store keeps it before the event can be seen
    return envelope


def _only_spec(specs: SpecService) -> str:
    for fault in specs.faults().values():
        raise OperatorError(fault)
    return specs.specs()[0].name


def _ignore(_event: JobEvent) -> None:
    pass
