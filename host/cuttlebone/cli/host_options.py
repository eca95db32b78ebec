"""Options of the commands that run a host, and the settings that they make.

Apart from the other options, so that a command which only talks to a host is not slowed by what it
takes to read the settings of one.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from cuttlebone.cli.models import model_file
from cuttlebone.cli.options import pairs
from cuttlebone.errors import OperatorError
from cuttlebone.job_options import Limits
from cuttlebone.settings import Isolation, Settings

ModelsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="ROLE=FILE.gguf",
        help="Serve a model under a role; `demo` as the file is the packaged demo model. Repeatable.",
    ),
]
IsolationOption: TypeAlias = Annotated[
    Isolation | None,
    typer.Option(
        show_default=False,
        help="How far guests are kept from the host; `thread` is for blocks that you trust. "
        "[default: process]",
    ),
]


def read_models(stated: list[str] | None) -> dict[str, Path]:
    """Read the values of `--model`; raise typer.BadParameter, or OperatorError without the demo model."""
    return {
        role: model_file(name) for role, name in pairs("--model", stated, "ROLE=FILE.gguf").items()
    }


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


def stated_limits(stated: dict[str, int]) -> Limits | None:
    """Make limits of the values of `--limit`; raise typer.BadParameter for a name that is none."""
    unknown = [name for name in stated if name not in Limits.model_fields]
    if unknown:
        known = ", ".join(Limits.model_fields)
        raise typer.BadParameter(
            f"{unknown[0]!r} is no limit; known are {known}", param_hint="--limit"
        )
    return Limits.model_validate(stated) if stated else None
