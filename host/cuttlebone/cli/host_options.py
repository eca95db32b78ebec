"""Options of the commands that run a host: made from the fields of the settings, and read into them.

Apart from the other options, so that a command which only talks to a host is not slowed by what it
takes to read the settings of one.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Concatenate, Final, ParamSpec, get_args, get_origin

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from cuttlebone.cli.model_file import model_file
from cuttlebone.cli.options import pairs, read_limits
from cuttlebone.errors import OperatorError
from cuttlebone.job_options import Limits
from cuttlebone.settings import Settings
from cuttlebone.settings.sources import (
    FILE_NAME,
    Source,
    WrongSettings,
    environment,
    file_here,
    settings_file,
    settled,
)
from cuttlebone.text.bounds import in_few_words
from cuttlebone_abi.faults import requirement

CONFIG_VARIABLE: Final = "CUTTLEBONE_CONFIG"

_ONE_VALUE: Final = (int, float, str, Path, StrEnum)
"""Types that a flag can have; anything else is text, given as often as there are values."""

P = ParamSpec("P")
Command = Callable[Concatenate["StatedSettings", P], None]


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How a setting is spelled on the command line, where its name and type do not say it."""

    flags: tuple[str, ...] = ()
    metavar: str | None = None


_SPELLINGS: Final[Mapping[str, _Spelling]] = {
    "models": _Spelling(("--model", "-m"), "ROLE=FILE"),
    "names": _Spelling(("--name",), "NAME"),
    "callback_hosts": _Spelling(("--callback-host",), "HOST"),
    "callback_delays_s": _Spelling(("--callback-delay-s",), "N"),
    "limits_max": _Spelling(("--limit-max",), "NAME=N"),
    "specs": _Spelling(metavar="FOLDER"),
    "cache": _Spelling(metavar="FOLDER"),
    "state": _Spelling(metavar="FOLDER"),
    "isolation": _Spelling(metavar="MODE"),
}
_REASON: Final = re.compile(r"`[^`]*`: (?:the key: )?(.*), but is .*")
_PANEL: Final = "Settings"
_NOT_GIVEN: Final[tuple[object, ...]] = (None, [], ())
_MORE_HELP: Final = {"models": "`demo` as the file is the packaged demo model."}


@dataclass(frozen=True, slots=True)
class StatedSettings:
    """What a command was told of the settings."""

    flags: Mapping[str, Any]
    """By the name of the setting; None or empty where the flag was not given."""
    config: Path | None
    here: bool
    """Whether the settings file of the current folder counts where no other is named."""

    def file(self) -> Path | None:
        """Find the settings file that counts; raise OperatorError."""
        if self.config is not None:
            return self.config
        return file_here(Path()) if self.here else None

    def sources(self) -> Sequence[Source]:
        """Read all places where settings are stated; raise OperatorError, typer.BadParameter."""
        file = self.file()
        given = {
            name: _value(name, flag) for name, flag in self.flags.items() if flag not in _NOT_GIVEN
        }
        flags = Source(given, lambda location: _flags(str(location[0]))[0])
        return [flags, environment(), *([] if file is None else [settings_file(file)])]

    def read(self) -> Settings:
        """Settle what holds; raise OperatorError, and typer.BadParameter for the value of a flag."""
        try:
            return settled(self.sources())
        except WrongSettings as error:
            for place, reason in error.faults:
                if place.startswith("--"):
                    raise typer.BadParameter(_of_flag(reason), param_hint=place) from None
            raise


def takes_settings(*names: str, here: bool = False) -> Callable[[Command[P]], Callable[..., None]]:
    """Give a command the options of these settings and `--config`; it gets them as one argument."""

    def decorate(command: Command[P]) -> Callable[..., None]:
        own = [*inspect.signature(command, eval_str=True).parameters.values()][1:]

        def run(config: Path | None, **given: Any) -> None:
            flags = {name: given.pop(name) for name in names}
            command(StatedSettings(flags, config, here), **given)  # type: ignore[call-arg]

        options = [*(_option(name) for name in names), _config_option(here=here)]
        ordered = [*own[:-1], *options, *own[-1:]]
        run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__annotations__ = command.__name__, command.__doc__, {}
        return run

    return decorate


def stated_limits(stated: dict[str, int]) -> Limits | None:
    """Make limits of the values of `--limit`; raise typer.BadParameter for a name that is none."""
    unknown = [name for name in stated if name not in Limits.model_fields]
    if unknown:
        known = ", ".join(Limits.model_fields)
        raise typer.BadParameter(
            f"{unknown[0]!r} is no limit; known are {known}", param_hint="--limit"
        )
    try:
        return Limits.model_validate(stated) if stated else None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0])
        reason = f"{name}: {in_few_words(requirement(fault))}"
        raise typer.BadParameter(reason, param_hint="--limit") from None


def demand_model_files(settings: Settings) -> None:
    """Raise OperatorError for a model file that is missing, before anything is started."""
    for role, path in settings.models.items():
        if not path.is_file():
            there = "is no file" if path.exists() else "does not exist"
            raise OperatorError(f"the model `{role}` cannot be loaded: {path} {there}")


def _of_flag(reason: str) -> str:
    """Leave out the name of the setting and the value, which stand beside the flag already."""
    named = _REASON.fullmatch(reason)
    return reason if named is None else in_few_words(named[1])


def _option(name: str) -> inspect.Parameter:
    field = Settings.model_fields[name]
    plain = _type_of(field)
    kind = list[str] if plain is None else plain
    option = typer.Option(
        None,
        *_flags(name),
        metavar=_metavar(name, plain),
        help=_help(name, field, repeated=plain is None),
        show_default=False,
        rich_help_panel=_PANEL,
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind | None
    )


def _metavar(name: str, plain: type[Any] | None) -> str:
    """Short words, so that no name of an option has to be cut."""
    stated = _SPELLINGS.get(name, _Spelling()).metavar
    if stated is not None:
        return stated
    return "N" if plain in {int, float} else "PATH" if plain is Path else "TEXT"


def _config_option(*, here: bool) -> inspect.Parameter:
    option = typer.Option(
        None,
        "--config",
        envvar=CONFIG_VARIABLE,
        metavar="FILE",
        help="Settings file; `cuttlebone config init` writes one."
        + (f" (default: {FILE_NAME}, if it is there)" if here else ""),
        show_default=False,
        rich_help_panel=_PANEL,
    )
    return inspect.Parameter(
        "config", inspect.Parameter.KEYWORD_ONLY, default=option, annotation=Path | None
    )


def _type_of(field: FieldInfo) -> type[Any] | None:
    """Give the type of the one value that a flag takes; None for flags that are given repeatedly.

    Bounds are left to the settings, which hold for environment and file as well.
    """
    annotation = field.annotation
    for one in get_args(annotation) if NoneType in get_args(annotation) else ():
        if one is not NoneType:
            annotation = one
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if isinstance(annotation, type) and issubclass(annotation, _ONE_VALUE):
        return annotation
    return None


def _flags(name: str) -> tuple[str, ...]:
    spelling = _SPELLINGS.get(name, _Spelling())
    return spelling.flags or ("--" + name.replace("_", "-"),)


def _help(name: str, field: FieldInfo, *, repeated: bool) -> str:
    sentences = [*(field.description or "").split(), *_MORE_HELP.get(name, "").split()]
    if repeated:
        sentences.append("Repeatable.")
        if isinstance(field.default, tuple) and field.default:
            sentences.append(f"(default: {', '.join(map(str, field.default))})")
    elif field.default is not None:
        sentences.append(f"(default: {field.default})")  # Rich takes brackets for its own
    return " ".join(sentences)


def _value(name: str, flag: Any) -> object:
    """Read what a flag was given; raise typer.BadParameter, or OperatorError without the demo model."""
    match name:
        case "models":
            named = pairs("--model", flag, "ROLE=FILE.gguf")
            return {role: model_file(file) for role, file in named.items()}
        case "limits_max":
            return read_limits(flag, option="--limit-max")
        case _:
            return flag
