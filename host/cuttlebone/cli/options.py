"""Options that several commands share, and the reading of their values."""

import sys
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from cuttlebone.cli.models import model_file
from cuttlebone.errors import OperatorError
from cuttlebone.settings import Settings
from cuttlebone_abi import Json, MalformedMessage, load_json

INPUT_BYTES_MAX: Final = 1 << 20
DEFAULT_URL: Final = "http://127.0.0.1:8420"

JsonFlag: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Write JSON on one line, for programs; complaints too.")
]
UrlOption: TypeAlias = Annotated[
    str, typer.Option("--url", envvar="CUTTLEBONE_URL", help="Where the host answers.")
]
InputOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--input",
        "-i",
        metavar="JSON|@FILE|-",
        help="The job's input: JSON in place, in a file, or on stdin (-).",
    ),
]
ModelsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="ROLE=FILE.gguf",
        help="Serve a model under a role; `demo` as the file is the packaged demo model. Repeatable.",
    ),
]
LimitsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=NUMBER",
        help="Narrow a limit of the spec, such as time_ms=5000. Repeatable.",
    ),
]
LabelsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="Label the job. Repeatable."),
]


def read_input(stated: str) -> Json:
    """Read the value of `--input`; raise typer.BadParameter if it is no JSON."""
    try:
        return load_json(_input_bytes(stated))
    except MalformedMessage as error:
        hint = "" if stated[:1] in "@-" else "; quote it for the shell, or give @FILE"
        raise _bad("--input", f"{error.reason}{hint}") from None


def read_models(stated: list[str] | None) -> dict[str, Path]:
    """Read the values of `--model`; raise typer.BadParameter, or OperatorError without the demo model."""
    return {
        role: model_file(name) for role, name in _pairs("--model", stated, "ROLE=FILE.gguf").items()
    }


def read_limits(stated: list[str] | None) -> dict[str, int]:
    """Read the values of `--limit`; raise typer.BadParameter."""
    found = {}
    for name, number in _pairs("--limit", stated, "NAME=NUMBER").items():
        if not (number.isascii() and number.isdecimal()):
            raise _bad("--limit", f"{name} is {number!r}, which is no whole number")
        found[name] = int(number)
    return found


def read_labels(stated: list[str] | None) -> dict[str, str]:
    """Read the values of `--label`; raise typer.BadParameter."""
    return _pairs("--label", stated, "KEY=VALUE")


def settings_with(**stated: object) -> Settings:
    """Put flags, where they are not None, over environment and defaults; raise OperatorError."""
    given = {name: value for name, value in stated.items() if value is not None}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            for fault in error.errors(include_url=False)
        ]
        raise OperatorError(
            "the settings (flags, or CUTTLEBONE_… in the environment) are wrong:\n  "
            + "\n  ".join(faults)
        ) from None
    except SettingsError as error:
        raise OperatorError(f"the environment cannot be read: {error}; it must be JSON") from None


def _input_bytes(stated: str) -> bytes:
    try:
        if stated == "-":
            data = sys.stdin.buffer.read(INPUT_BYTES_MAX + 1)
        elif stated[:1] == "@":
            with Path(stated[1:]).open("rb") as file:
                data = file.read(INPUT_BYTES_MAX + 1)
        else:
            data = stated.encode("utf-8", "surrogateescape")
    except OSError as error:
        raise _bad("--input", f"{stated[1:]} cannot be read: {error.strerror}") from None
    if len(data) > INPUT_BYTES_MAX:
        raise _bad(
            "--input",
            f"larger than {INPUT_BYTES_MAX} bytes; put the data in a file that the spec grants, "
            "and give its path",
        )
    return data


def _pairs(option: str, stated: list[str] | None, form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for one in stated or ():
        key, sign, value = one.partition("=")
        if not (key and sign and value):
            raise _bad(option, f"{one!r} should be {form}")
        if key in pairs:
            raise _bad(option, f"{key!r} is given twice")
        pairs[key] = value
    return pairs


def _bad(option: str, reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint=option)
