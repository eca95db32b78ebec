"""`cuttlebone block`: new blocks, their builds and cases, wasm files looked into, uploads to a host."""

import typer

from cuttlebone.cli.block import build, cases, check, inspect, new, run, uploads

app = typer.Typer(help="Make, build, test and look into wasm blocks, and bring them to a host.")
for _command in (new, build, check, cases, run, inspect, uploads):
    app.add_typer(_command.app)
