"""`cuttlebone token`: who may use a host, kept in its state folder."""

from typing import Annotated, TypeAlias

import typer
from rich.console import Console
from rich.table import Table

from cuttlebone.access import Token, TokenFile, TokenScope
from cuttlebone.cli.host_options import StatedSettings, takes_settings
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line, write_note

app = typer.Typer(help="Make, list and revoke the tokens of a host.")

DEFAULT_SCOPES = (TokenScope.SUBMIT, TokenScope.READ, TokenScope.CANCEL)
DEFAULT_TENANT = "local"

NameArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="What the token is called.")
]


@app.command(epilog="Example: cuttlebone token add agent --scope submit --scope read")
@takes_settings("state", here=True)
def add(
    stated: StatedSettings,
    name: NameArgument,
    *,
    scopes: Annotated[
        list[TokenScope] | None,
        typer.Option(
            "--scope",
            help="What it may do; `admin` uploads blocks and names jobs of other tenants, `metrics` sees the "
            "numbers of the host. Repeatable. [default: submit, read, cancel]",
        ),
    ] = None,
    tenant: Annotated[
        str, typer.Option(help="Whose jobs it sees and makes; tenants see nothing of each other.")
    ] = DEFAULT_TENANT,
    as_json: JsonFlag = False,
) -> None:
    """Make a token and write it, this once: only its digest is kept.

    From the first token on, a host asks everybody for one. A running host notices at once.
    """
    with reporting(as_json=as_json):
        wanted = frozenset(scopes or DEFAULT_SCOPES)
        secret = _file(stated).add(name, tenant=tenant, scopes=wanted)
    if as_json:
        shown = {"name": name, "tenant": tenant, "scopes": sorted(wanted), "token": secret}
        write_json(shown, pretty=False)
        return
    write_line(secret)
    write_note("keep it now, it is shown only this once; clients take it from CUTTLEBONE_TOKEN")


@app.command("list", epilog="Example: cuttlebone token list --json")
@takes_settings("state", here=True)
def list_tokens(stated: StatedSettings, *, as_json: JsonFlag = False) -> None:
    """List the tokens of a host. They themselves are kept nowhere."""
    with reporting(as_json=as_json):
        tokens = _file(stated).tokens() or ()
    if as_json:
        write_json({"tokens": [_shown(one) for one in tokens]}, pretty=False)
        return
    table = Table("name", "tenant", "scopes", "created", box=None, pad_edge=False)
    for one in tokens:
        created = one.created_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        table.add_row(one.name, one.tenant, ", ".join(sorted(one.scopes)), created)
    Console(highlight=False, markup=False).print(table)


@app.command(epilog="Example: cuttlebone token revoke agent")
@takes_settings("state", here=True)
def revoke(stated: StatedSettings, name: NameArgument, *, as_json: JsonFlag = False) -> None:
    """Take a token back. A running host refuses it from now on; its jobs go on."""
    with reporting(as_json=as_json):
        file = _file(stated)
        left = file.revoke(name)
    if as_json:
        write_json({"revoked": name, "left": left}, pretty=False)
        return
    write_line(f"{name} is revoked")
    if left == 0:
        write_note(
            "no token is left, so the host serves nobody; make another, or remove "
            f"{file.path} to serve everybody on this machine again"
        )


def _file(stated: StatedSettings) -> TokenFile:
    return TokenFile(stated.read().state_folder)


def _shown(token: Token) -> dict[str, object]:
    return {
        "name": token.name,
        "tenant": token.tenant,
        "scopes": sorted(token.scopes),
        "created_at": token.created_at.isoformat(),
    }
