"""`cuttlebone block inspect`: what a host knows of a wasm file before it runs it."""

from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.authoring.looking import Block, admit_file
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone_abi import Json

app = typer.Typer()


@app.command(epilog="Example: cuttlebone block inspect summarize.wasm")
def inspect(
    path: Annotated[Path, typer.Argument(metavar="FILE.wasm", help="The block.")],
    *,
    as_json: JsonFlag = False,
) -> None:
    """Show size, digest, signature, ABI version, memory and exports of a block.

    The exit status is 1 if a host would refuse the file; the message then says what to change.
    """
    with reporting(as_json=as_json):
        block = admit_file(path)
    if as_json:
        write_json(_description(block), pretty=False)
        return
    for name, value in _description(block).items():
        if isinstance(value, dict):
            write_line(name)
            for key, text in value.items():
                write_line(f"  {key}: {text}")
        else:
            write_line(f"{name:<18} {value}")


def _description(block: Block) -> dict[str, Json]:
    return {
        "digest": block.digest,
        "size_bytes": block.size_bytes,
        "abi_version": block.abi_version,
        "signature": str(block.signature),
        "wants_tokens": block.wants_tokens,
        "memory_bytes_min": block.memory_bytes_min,
        "exports": dict(block.exports),
    }
