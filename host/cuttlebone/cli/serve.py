"""`cuttlebone serve`: a host and its HTTP API, until a stop signal."""

import logging
import socket
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

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
from cuttlebone.cli.host_options import IsolationOption, ModelsOption, read_models, settings_with
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import shown, write_json
from cuttlebone.cli.watching import stderr_console
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from cuttlebone.text.addresses import address, in_url, is_loopback

app = typer.Typer()


@app.command(epilog="Example: cuttlebone serve --specs specs --model smollm2=demo")
def serve(
    *,
    specs: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of spec files. [default: specs]")
    ] = None,
    models: ModelsOption = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port; 0 takes a free one. [default: 8420]"),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for compiled blocks. [default: the user's]"),
    ] = None,
    socket: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Listen on this unix socket, for this user alone, not on a port."
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name", help="A name under which clients address the host, for proxies. Repeatable."
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of jobs, uploaded blocks and tokens. [default: the user's]",
        ),
    ] = None,
    no_state: Annotated[
        bool, typer.Option("--no-state", help="Keep jobs in memory, and have no tokens.")
    ] = False,
    isolation: IsolationOption = None,
    jobs_running_max: Annotated[
        int | None, typer.Option(min=1, help="Jobs that run at once. [default: 4]")
    ] = None,
    jobs_waiting_max: Annotated[
        int | None, typer.Option(min=1, help="Jobs that may wait. [default: 1000]")
    ] = None,
    context_tokens_max: Annotated[
        int | None, typer.Option(min=1, help="Context of a model. [default: 4096]")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of a model. [default: by the processor]")
    ] = None,
    grace_s: Annotated[
        float | None,
        typer.Option(help="How long running jobs may go on after a stop signal. [default: 10]"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a host and its HTTP API until Ctrl-C or SIGTERM.

    What it serves is said on stderr once it answers; with --json it is one line on stdout instead.
    Every option can be set in the environment as well, see docs/settings.md; a flag wins.
    """
    log_to_stderr(level=logging.INFO)
    with reporting(as_json=as_json):
        settings = settings_with(
            specs=specs,
            models=read_models(models) or None,
            host=host,
            port=port,
            cache=cache,
            state=state,
            socket=socket,
            names=tuple(names) if names else None,
            isolation=isolation,
            jobs_running_max=jobs_running_max,
            jobs_waiting_max=jobs_waiting_max,
            context_tokens_max=context_tokens_max,
            threads=threads,
            grace_s=grace_s,
        )
        settings = settings.model_copy(
            update={"state": None if no_state else settings.state_folder}
        )
        tokens = None if settings.state is None else TokenFile(settings.state)
        # Before everything else: a busy port should cost no loading of a model.
        with _listening(settings, tokens) as listener, open_host(settings) as running:
            http = _server(running, tokens, listener)
            http.serve(lambda url: _announce(url, running, as_json=as_json))


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
