"""`cuttlebone serve`: a host and its HTTP API, until a stop signal."""

import gc
import logging
import os
import socket
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Annotated

import structlog
import typer
from rich.text import Text

from cuttlebone.access import Authenticator, TokenFile
from cuttlebone.api import HttpServer, create_app, listen, listen_unix
from cuttlebone.api.connection_limits import (
    ConnectionLimits,
    TransferLimits,
    connections_possible,
    raise_open_files,
)
from cuttlebone.assembly import open_host
from cuttlebone.cli.host_options import StatedSettings, demand_model_files, takes_settings
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import shown, write_json
from cuttlebone.cli.watching import stderr_console
from cuttlebone.diagnosis.work import NO_TEMPLATE, roles_without_template
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from cuttlebone.settings.variables import unknown_variables
from cuttlebone.text.addresses import address, in_url, is_loopback

app = typer.Typer()

_log = structlog.get_logger(__name__)


@app.command(epilog="Example: cuttlebone serve --specs specs --model smollm2=demo")
@takes_settings(*Settings.model_fields, here=True)
def serve(
    stated: StatedSettings,
    *,
    no_state: Annotated[
        bool, typer.Option("--no-state", help="Keep jobs in memory, and have no tokens.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run a host and its HTTP API until Ctrl-C or SIGTERM.

    What it serves is said on stderr once it answers; with --json it is one line on stdout instead.
    Every option is a setting, which can stand in the environment and in a file as well: see
    docs/settings.md. A flag goes before the environment, and that before the file.
    """
    log_to_stderr(level=logging.INFO)
    with reporting(as_json=as_json):
        settings = stated.read()
        _log.info("settings", file=_file_name(stated))
        for reason in unknown_variables(os.environ):
            _log.warning("unknown variable", reason=reason)
        demand_model_files(settings)
        for role in roles_without_template(settings):
            _log.warning("no chat template", model=role, effect=NO_TEMPLATE)
        settings = settings.model_copy(
            update={"state": None if no_state else settings.state_folder}
        )
        tokens = None if settings.state is None else TokenFile(settings.state)
        # Before everything else: a busy port should cost no loading of a model.
        with _listening(settings, tokens) as listener, open_host(settings) as running:
            http = _server(running, tokens, listener)
            keep_for_good()
            http.serve(lambda url: _announce(url, running, as_json=as_json))


def keep_for_good() -> None:
    """Spare collections the objects that exist now, which live as long as the host.

    A collection looks at all others while every thread waits: a command of many small values brings on
    one after another, and together they took four fifths of the time of reading it.
    """
    gc.collect()
    gc.freeze()


def _file_name(stated: StatedSettings) -> str:
    file = stated.file()
    return "none" if file is None else str(file.absolute())


def _listening(
    settings: Settings, tokens: TokenFile | None
) -> AbstractContextManager[socket.socket]:
    if settings.socket is not None:
        return listen_unix(settings.socket)
    guarded = tokens is not None and bool(tokens.tokens())
    return listen(settings.host, settings.port, guarded=guarded)


def _server(running: Host, tokens: TokenFile | None, listener: socket.socket) -> HttpServer:
    settings = running.settings
    bound = address(settings.host)
    local = settings.socket is not None or (bound is not None and is_loopback(bound))
    app = create_app(
        running,
        version=version("cuttlebone"),
        names=(*settings.names, *_hosts(settings.host)),
        authenticator=Authenticator(tokens, local=local),
        limits=ConnectionLimits(
            connections=connections_possible(settings.connections_max),
            transfer=TransferLimits(settings.stall_timeout_s),
        ),
    )
    raise_open_files()
    return HttpServer(app, listener, grace_s=settings.grace_s)


def _announce(url: str, host: Host, *, as_json: bool) -> None:
    """Say where the host answers and what it serves."""
    served = [one.name for one in host.specs.specs()]
    faults = sorted(host.specs.faults().values())
    models = {one.role: one.file for one in host.status.models()}
    layers = host.status.readiness().layers
    if as_json:
        facts = {"specs": served, "faults": faults, "models": models, "isolation": layers}
        write_json({"url": url, **facts}, pretty=False)
        return
    console = stderr_console()
    console.print(Text.assemble(("cuttlebone", "bold cyan"), " answers at ", (url, "bold")))
    console.print(Text(f"specs   {', '.join(served) or 'none'}"), soft_wrap=True)
    for fault in faults:
        console.print(Text(f"fault   {shown(fault)}", "red"), soft_wrap=True)
    for role, file in models.items():
        console.print(Text(shown(f"model   {role}: {file}")), soft_wrap=True)
    holding = [layer for layer, missing in layers.items() if missing is None]
    console.print(Text(f"guests  behind {', '.join(holding) or 'wasm alone'}"), soft_wrap=True)
    for layer, missing in layers.items():
        if missing is not None:
            console.print(Text(shown(f"missing {layer}: {missing}"), "yellow"), soft_wrap=True)
    console.print(Text("Ctrl-C stops it", "dim"))


def _hosts(host: str) -> tuple[str, ...]:
    """Return under which name, as it stands in a URL, the host may be addressed."""
    parsed = address(host)
    return () if parsed is None else (in_url(parsed),)
