"""`cuttlebone block`: new blocks, their builds and cases, and wasm files looked into."""

import typer

from cuttlebone.cli.block import build, cases, check, inspect, new, run

app = typer.Typer(help="Make, build, test and look into wasm blocks.")
for _command in (new, build, check, cases, run, inspect):
    app.add_typer(_command.app)
