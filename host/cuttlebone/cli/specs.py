"""`cuttlebone specs`: what can be submitted to a running host."""

import typer
from rich.text import Text

from cuttlebone.cli.options import JsonFlag, UrlOption
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import shown, write_json, write_table
from cuttlebone.cli.watching import stderr_console
from cuttlebone.client import Client
from cuttlebone.text.addresses import DEFAULT_URL

app = typer.Typer()


@app.command(epilog="Example: cuttlebone specs --url http://127.0.0.1:8420")
def specs(*, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """List what can be submitted to a running host: each spec with its model and what it is for.

    Spec files with a fault, which can not be submitted, are said on stderr.
    """
    with reporting(as_json=as_json), Client(url) as client:
        found = client.specs()
    if as_json:
        write_json(found.model_dump(mode="json"), pretty=False)
        return
    rows = [(one.name, one.model or "", one.description) for one in found.specs]
    write_table(("spec", "model", "description"), rows)
    for one in found.unusable:
        stderr_console().print(Text(shown(f"fault   {one.fault}"), "red"), soft_wrap=True)
