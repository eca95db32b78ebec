"""`cuttlebone models`: the models of a running host."""

import typer

from cuttlebone.cli.options import JsonFlag, UrlOption
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_table
from cuttlebone.client import Client, ModelResource
from cuttlebone.text.addresses import DEFAULT_URL

app = typer.Typer()


@app.command(epilog="Example: cuttlebone models --url http://127.0.0.1:8420")
def models(*, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """List the models of a running host by the role that they serve, and how far each is loaded."""
    with reporting(as_json=as_json), Client(url) as client:
        found = client.models()
    if as_json:
        write_json({"models": [one.model_dump(mode="json") for one in found]}, pretty=False)
        return
    write_table(("role", "state", "context", "at once", "exact", "file"), map(_row, found))


def _row(model: ModelResource) -> tuple[str, ...]:
    exact = {None: "", True: "yes", False: "no"}[model.exact]
    sizes = (model.context_tokens, model.generations_max)
    return (model.role, _standing(model), *("" if one is None else str(one) for one in sizes), exact, model.file)  # fmt: skip


def _standing(model: ModelResource) -> str:
    if model.progress is not None:
        return f"{model.state} {model.progress:.0%}"
    return model.state if model.reason is None else f"{model.state}: {model.reason}"
