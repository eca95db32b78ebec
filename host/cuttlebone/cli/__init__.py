"""The command line: which commands there are, and how a process of them ends."""

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Final

import typer
from typer.main import get_command

from cuttlebone.cli.output import complain
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.cli.usage_faults import usage_fault


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    """Of the command, and of its module in this package."""
    summary: str
    noun: bool = False
    """Whether the module has several commands that stand under this name."""


ENTRIES: Final = (
    _Command("demo", "Run a real job from end to end and watch it."),
    _Command("serve", "Run a host and its HTTP API."),
    _Command("run", "Run one job in a host of its own."),
    _Command("submit", "Submit a job to a running host."),
    _Command("jobs", "List the jobs of a running host."),
    _Command(
        "job", "Show, watch, await, cancel, export or forget a job of a running host.", noun=True
    ),
    _Command("specs", "List what can be submitted to a running host."),
    _Command("models", "List the models of a running host."),
    _Command("doctor", "Look at all that a host needs, before it is started."),
    _Command("salvage", "Make a state folder of what can be read of a damaged one."),
    _Command("replay", "Drive a block through a recorded job, without a model."),
    _Command("config", "Write a settings file, and show what holds and who said so.", noun=True),
    _Command("token", "Make, list and revoke the tokens of a host.", noun=True),
    _Command("spec", "Check spec files.", noun=True),
    _Command("block", "Make, build, test and look into wasm blocks.", noun=True),
    _Command("bench", "Measure how fast this machine serves.", noun=True),
    _Command("endpoint", "Check endpoint specs, import them from a roster, list them.", noun=True),
    _Command("intake", "Check intakes: what is to be made fast, and how.", noun=True),
    _Command("manifest", "Check run manifests: exactly what was run.", noun=True),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status, see `ExitStatus`."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    command = get_command(_app(next((word for word in given if word[:1] != "-"), None)))
    try:
        status = command.main(given, prog_name="cuttlebone", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        path = "cuttlebone" if context is None else context.command_path
        complain(
            "usage",
            f"{usage_fault(error, given)} (`{path} --help` says more)",
            as_json="--json" in given,
        )
        return ExitStatus.REFUSED
    return int(status or 0)


def _app(wanted: str | None) -> typer.Typer:
    """Build the commands, with only the wanted one behind its name; for a shell's completion none.

    Each command lives in a module that imports what it needs, up to a whole host, which takes a
    second or more. So only the one that is called is imported; the others are names with a
    summary, which is all that the list of commands shows of them.
    """
    app = typer.Typer(
        callback=_root,
        help="A host for sandboxed WebAssembly jobs beside a local language model.",
    )
    if "_CUTTLEBONE_COMPLETE" in os.environ:
        import_module("cuttlebone.cli.completion").add_completed_commands(app)
        return app
    for entry in ENTRIES:
        if entry.name == wanted:
            commands = _loaded(entry.name)
            app.add_typer(commands, name=entry.name if entry.noun else None)
        else:
            app.command(entry.name, help=entry.summary)(_unloaded)
    return app


def _loaded(name: str) -> typer.Typer:
    """Import a command, without a look for garbage: nothing that a module makes is any."""
    gc.disable()
    try:
        commands: typer.Typer = import_module(f"cuttlebone.cli.{name}").app
    finally:
        gc.enable()
    return commands


def _unloaded() -> None:
    """Stand for a command that was not called."""


def _show_version(wanted: bool) -> None:  # noqa: FBT001  # what Typer calls it with
    if wanted:
        typer.echo(version("cuttlebone"))
        raise typer.Exit


def _root(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options that stand before a command."""
