"""What a shell completes: commands and options from a table, and names that a running host knows.

The commands import what they need to work, up to a whole host. A shell asks at each TAB, so here
they are built from `completions.json`, which `python -m cuttlebone.cli.completion_table` writes.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from typing import Any, Final

import typer

from cuttlebone.cli import known_names

TABLE_NAME: Final = "completions.json"

_SOURCES: Final[Mapping[str, Callable[[str | None], Iterable[str]]]] = {
    "ID": known_names.job_ids,
    "JOB|FILE": known_names.job_ids,
    "SPEC": known_names.spec_names,
    "ROLE=FILE": known_names.role_beginnings,
    "DIGEST": known_names.block_digests,
}
"""By what a parameter is called in the help: what completes it."""

_Parameter = Mapping[str, Any]


def read_table() -> dict[str, Any]:
    """Read what `completion_table` has written."""
    table: dict[str, Any] = json.loads(files("cuttlebone.cli").joinpath(TABLE_NAME).read_bytes())
    return table


def add_completed_commands(app: typer.Typer) -> None:
    """Give an app all commands as a shell sees them: their names and options, and nothing behind them."""
    groups: dict[str, typer.Typer] = {}
    for path, command in read_table().items():
        group, _, name = path.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer()
            app.add_typer(groups[group], name=group, help=command["group_help"])
        owner = groups.get(group, app)
        owner.command(name, help=command["help"])(_command(command["parameters"]))


def _command(parameters: Iterable[_Parameter]) -> Callable[..., None]:
    def stand_in(**_: object) -> None:
        """Stand for a command that a shell asks about, and that is never carried out."""

    stand_in.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_signature_of(one) for one in parameters]
    )
    stand_in.__annotations__ = {}
    return stand_in


def _signature_of(stated: _Parameter) -> inspect.Parameter:
    source = _SOURCES.get(stated["metavar"] or "")
    complete = None
    if source is not None:
        complete = partial(_from_host, source)
    elif stated["values"]:
        complete = partial(_from_values, stated["values"])
    if stated["flags"]:
        default = typer.Option(
            None, *stated["flags"], help=stated["help"], autocompletion=_callback(complete)
        )
    else:
        default = typer.Argument(None, help=stated["help"], autocompletion=_callback(complete))
    kinds: dict[str, Any] = {"flag": bool, "list": list[str], "value": str | None}
    return inspect.Parameter(
        stated["name"],
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=kinds[stated["kind"]],
    )


def _callback(complete: Callable[..., Iterator[str]] | None) -> Callable[..., Any] | None:
    """Give a callback the signature by which Typer knows what to call it with."""
    if complete is None:
        return None

    def called(ctx: typer.Context, incomplete: str) -> list[str]:
        return list(complete(ctx, incomplete))

    return called


def _from_host(
    source: Callable[[str | None], Iterable[str]], context: typer.Context, begun: str
) -> Iterator[str]:
    return _beginning(source(context.params.get("url")), begun)


def _from_values(values: Iterable[str], _context: typer.Context, begun: str) -> Iterator[str]:
    return _beginning(values, begun)


def _beginning(names: Iterable[str], begun: str) -> Iterator[str]:
    """Leave out names that a shell cannot take as one word as they are."""
    return (name for name in names if name.startswith(begun) and known_names.is_plain(name))
