"""Writes the table of commands and options that a shell completes from: `python -m cuttlebone.cli.completion_table`."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import typer
from typer.main import get_command

from cuttlebone.cli import ENTRIES
from cuttlebone.cli.completion import TABLE_NAME

_HELP: Final = "--help"


def table() -> dict[str, Any]:
    """Describe every command by its path, such as `job show`, as it is now."""
    found: dict[str, Any] = {}
    for entry in ENTRIES:
        commands: typer.Typer = import_module(f"cuttlebone.cli.{entry.name}").app
        command: Any = get_command(commands)
        if not entry.noun:
            found[entry.name] = {"help": entry.summary, "parameters": _parameters(command)}
            continue
        for name, one in sorted(command.commands.items()):
            found[f"{entry.name} {name}"] = {
                "help": one.get_short_help_str(limit=100),
                "group_help": entry.summary,
                "parameters": _parameters(one),
            }
    return found


def written(found: dict[str, Any]) -> str:
    """Write a table as its file has it: a line for each parameter."""
    lines = []
    for path, command in found.items():
        rest = {name: value for name, value in command.items() if name != "parameters"}
        parameters = ",\n".join(f"    {json.dumps(one)}" for one in command["parameters"])
        lines.append(
            f'  {json.dumps(path)}: {json.dumps(rest)[:-1]}, "parameters": [\n{parameters}\n  ]}}'
        )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _parameters(command: Any) -> list[dict[str, Any]]:
    return list(_described(command))


def _described(command: Any) -> Iterator[dict[str, Any]]:
    # Arguments first: in what order they are given counts, and options come anywhere.
    for one in sorted(command.params, key=lambda one: one.param_type_name == "option"):
        options = one.param_type_name == "option"
        if _HELP in one.opts or one.name in {"install_completion", "show_completion"}:
            continue
        kind = "value"
        if options and one.is_flag:
            kind = "flag"
        elif one.multiple or one.nargs != 1:
            kind = "list"
        yield {
            "name": one.name,
            "flags": one.opts if options else [],
            "kind": kind,
            "metavar": one.metavar,
            "help": " ".join((one.help or "").split()),
            "values": _values(command, one),
        }


def _values(command: Any, parameter: Any) -> list[str]:
    """Give the words that a parameter can be, where there are only some."""
    context = command.make_context("", [], resilient_parsing=True)
    return [item.value for item in parameter.shell_complete(context, "") if item.type == "plain"]


if __name__ == "__main__":
    Path(__file__).with_name(TABLE_NAME).write_text(written(table()))
