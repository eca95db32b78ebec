"""`cuttlebone demo`: a real host, a real model, a real block, one job from end to end."""

import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import typer

import cuttlebone
from cuttlebone.cli.following import follow
from cuttlebone.cli.host_process import host_process
from cuttlebone.cli.model_file import DEMO_MODEL, model_file
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting, status_of
from cuttlebone.cli.output import write_json, write_note
from cuttlebone.cli.watching import EventView, stderr_console
from cuttlebone.client import Client
from cuttlebone.errors import OperatorError
from cuttlebone.signals import on_stop_signal
from cuttlebone_abi import Envelope

app = typer.Typer()

SPEC: Final = "summarize"
TEXT: Final = "texts/tide-mill.txt"
ROLE: Final = "smollm2"


@app.command(epilog="Example: cuttlebone demo --json")
def demo(*, as_json: JsonFlag = False) -> None:
    r"""Start a host on a free loopback port, let it sum up a text, and write the envelope.

    The block, its spec and the text ship with this package, the model with `cuttlebone\[demo]`.
    Progress and text show on stderr as they come; with --json only the envelope is written.
    """
    with reporting(as_json=as_json), on_stop_signal(_interrupt):
        envelope = _demonstrate(watched=not as_json)
    write_json(envelope.model_dump(mode="json"), pretty=not as_json)
    raise typer.Exit(status_of(envelope))


def _demonstrate(*, watched: bool) -> Envelope:
    model_file(DEMO_MODEL)  # Says what is missing before anything is started.
    folder = demo_folder()
    with ExitStack() as stack:
        url = stack.enter_context(
            # The job has ended when the host is told to stop, or nobody wants it any more.
            host_process(
                ["--specs", str(folder), "--model", f"{ROLE}={DEMO_MODEL}", "--grace-s", "0.1"],
                tell=write_note if watched else _ignore,
            )
        )
        client = stack.enter_context(Client(url))
        job = client.submit(SPEC, {"path": TEXT})
        if not watched:
            client.wait(job.id)
            return client.result(job.id)
        write_note(f"a host answers at {url}; job {job.id}: {SPEC} {folder / TEXT}")
        view = stack.enter_context(closing(EventView(stderr_console(), time.monotonic)))
        return follow(client, job.id, view)


def demo_folder() -> Path:
    """Return the folder with the spec, block and text of the demo; raise OperatorError.

    A built package carries a copy; an editable install runs them from where they are made.
    """
    package = Path(cuttlebone.__file__).parent
    for folder in (
        package / "demo_files",
        package.parents[1] / "guest-examples" / "c" / "summarize",
    ):
        if (folder / f"{SPEC}.yaml").is_file():
            return folder
    raise OperatorError(f"the files of the demo are missing from {package}; install it again")


def _ignore(_text: str) -> None:
    """Leave it out: only the envelope is wanted."""


def _interrupt() -> None:
    raise KeyboardInterrupt
