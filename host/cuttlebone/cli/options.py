"""Options that say what a job is and where it goes, and the reading of their values."""

import sys
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from cuttlebone_abi import Json, MalformedMessage, load_json

INPUT_BYTES_MAX: Final = 1 << 20

JsonFlag: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Write JSON on one line, for programs; complaints too.")
]
UrlOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--url", envvar="CUTTLEBONE_URL", help="Where the host answers; a unix socket is unix:PATH."
    ),
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


def read_limits(stated: list[str] | None, *, option: str = "--limit") -> dict[str, int]:
    """Read the values of `--limit`, or another option of its kind; raise typer.BadParameter."""
    found = {}
    for name, number in pairs(option, stated, "NAME=NUMBER").items():
        if not (number.isascii() and number.isdecimal()):
            raise _bad(option, f"{name} is {number!r}, which is no whole number")
        found[name] = int(number)
    return found


def read_labels(stated: list[str] | None) -> dict[str, str]:
    """Read the values of `--label`; raise typer.BadParameter."""
    return pairs("--label", stated, "KEY=VALUE")


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


def pairs(option: str, stated: list[str] | None, form: str) -> dict[str, str]:
    """Read values with a key before `=`, each key once; raise typer.BadParameter naming `form`."""
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
