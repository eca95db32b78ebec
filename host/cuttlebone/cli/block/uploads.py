"""`cuttlebone block upload`, `list` and `forget`: the blocks of a running host."""

from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.authoring.looking import read_block
from cuttlebone.cli.options import JsonFlag, UrlOption
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.client import BlockResource, Client
from cuttlebone.text.addresses import DEFAULT_URL

app = typer.Typer()


@app.command(epilog="Example: cuttlebone block upload summarize.wasm")
def upload(
    path: Annotated[Path, typer.Argument(metavar="FILE.wasm", help="The block.")],
    *,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonFlag = False,
) -> None:
    """Bring a block to a running host and write the digest by which specs name it.

    It takes a token with the scope `admin` where the host has tokens. The same block again does no
    harm.
    """
    with reporting(as_json=as_json):
        wasm = read_block(path)
        with Client(url) as client:
            block = client.upload_block(wasm)
    if as_json:
        write_json(block.model_dump(mode="json"), pretty=False)
    else:
        write_line(block.digest)


@app.command("list", epilog="Example: cuttlebone block list --json")
def list_blocks(*, url: UrlOption = DEFAULT_URL, as_json: JsonFlag = False) -> None:
    """List the blocks of a running host: those that were uploaded, and the files that its specs name."""
    with reporting(as_json=as_json), Client(url) as client:
        blocks = client.blocks()
    if as_json:
        write_json({"blocks": [one.model_dump(mode="json") for one in blocks]}, pretty=False)
        return
    for one in blocks:
        write_line(_line(one))


@app.command(epilog="Example: cuttlebone block forget sha256:d8dd…")
def forget(
    digest: Annotated[
        str, typer.Argument(metavar="DIGEST", help="Its digest, with or without `sha256:`.")
    ],
    *,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonFlag = False,
) -> None:
    """Take an upload back that no spec of its host names by its digest."""
    with reporting(as_json=as_json), Client(url) as client:
        client.forget_block(digest)
    if as_json:
        write_json({"forgotten": digest}, pretty=False)
    else:
        write_line(f"{digest} is forgotten")


def _line(block: BlockResource) -> str:
    """Write a block in a line and not in a table, which would fold its digest."""
    kept = "upload" if block.uploaded else "file"
    return f"{block.digest} {block.size_bytes:>10} {kept:<6} {', '.join(block.specs)}".rstrip()
