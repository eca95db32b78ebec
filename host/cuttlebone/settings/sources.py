"""Where settings are stated: flags, environment, a file. The first that states a value wins."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, SettingsError

from cuttlebone.errors import OperatorError
from cuttlebone.settings import Settings
from cuttlebone.text.lined_documents import explain, read_lined
from cuttlebone_abi.walking import Location

FILE_NAME: Final = "cuttlebone.yaml"
FILE_BYTES_MAX: Final = 256 << 10
DEFAULT: Final = "default"
_OTHERS_MAY_WRITE: Final = 0o022


class WrongSettings(OperatorError):
    """Values that no host can have; each fault with the place that states it."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        lines = [f"{place}: {reason}" for place, reason in faults]
        super().__init__("the settings are wrong:\n  " + "\n  ".join(lines))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Source:
    """Settings that are stated in one place, not checked yet, and how a part of it is called."""

    values: Mapping[str, object]
    place: Callable[[Location], str]


def environment() -> Source:
    """Read the variables `CUTTLEBONE_…`; raise OperatorError for one that should be JSON and is not."""
    try:
        values = EnvSettingsSource(Settings)()
    except SettingsError as error:
        raise OperatorError(f"the environment cannot be read: {error}; it must be JSON") from None
    return Source(values, lambda location: f"CUTTLEBONE_{str(location[0]).upper()}")


def settings_file(path: Path) -> Source:
    """Read a settings file, whose relative paths start from its folder; raise OperatorError."""
    document = read_lined(path, bytes_max=FILE_BYTES_MAX, empty=True)
    stated = {} if document.value is None else document.value
    if not isinstance(stated, dict):
        raise OperatorError(f"{path}:1: settings are a mapping, such as `port: 8420`")
    values = {name: _anchored(name, value, path.parent) for name, value in stated.items()}
    return Source(values, document.place)


def file_here(folder: Path) -> Path | None:
    """Find the settings file of a folder; raise OperatorError for one that others may write.

    Whoever writes it decides how far guests are kept from the host, so a file that nobody named has
    to belong to the user, or to root.
    """
    path = folder / FILE_NAME
    try:
        status = path.stat()
    except OSError:
        return None
    if status.st_mode & _OTHERS_MAY_WRITE or status.st_uid not in {0, os.geteuid()}:
        raise OperatorError(
            f"{path} belongs to another user, or others may write it; `chmod go-w {path}`, or name it "
            "with --config"
        )
    return path


def settled(sources: Sequence[Source]) -> Settings:
    """Put the sources over the defaults, the first on top; raise WrongSettings.

    Mappings are merged: `models` and `limits_max` may have entries from several sources.
    """
    stated: dict[str, object] = {}
    for source in reversed(sources):
        for name, value in source.values.items():
            stated[name] = _merged(stated.get(name), value)
    try:
        return Settings.model_validate(stated)
    except ValidationError as error:
        raise WrongSettings(
            [
                (place_of(fault["loc"], sources), explain(fault, Settings))
                for fault in error.errors(include_url=False)
            ]
        ) from None


def place_of(location: Location, sources: Sequence[Source]) -> str:
    """Name the place where a value is stated: a flag, a variable, `file:line`, or `default`."""
    found = (source for source in sources if _states(source.values, location))
    source = next(found, None)
    return DEFAULT if source is None else source.place(location)


def _merged(lower: object, upper: object) -> object:
    if isinstance(lower, Mapping) and isinstance(upper, Mapping):
        return {**lower, **upper}
    return upper


def _states(value: object, location: Location) -> bool:
    for part in location:
        if not isinstance(value, Mapping):
            return True
        if part not in value:
            return False
        value = value[part]
    return True


def _anchored(name: str, value: object, folder: Path) -> object:
    field = Settings.model_fields.get(name)
    if field is None or not _is_path(field.annotation):
        return value
    match value:
        case str():
            return folder / value
        case dict():
            return {
                key: folder / one if isinstance(one, str) else one for key, one in value.items()
            }
        case _:
            return value


def _is_path(annotation: object) -> bool:
    return annotation is Path or any(_is_path(one) for one in get_args(annotation))
