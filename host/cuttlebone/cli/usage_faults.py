"""What is wrong with a command line, in words that name the option and the value."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import typer

from cuttlebone.text import printable
from cuttlebone.text.bounds import in_few_words

_VALUE_CHARS_MAX: Final = 60


def usage_fault(error: typer.TyperException, given: Sequence[str]) -> str:
    """Say what is wrong: "`--limit 1000`: at most 200"."""
    option = _option_of(error)
    if option is None:
        return error.format_message()
    value = _value_of(option, given)
    stated = option if value is None else f"{option} {value}"
    return f"`{stated}`: {in_few_words(str(error.message))}"


def _option_of(error: Any) -> str | None:
    """The option that a value is wrong of; None where the complaint is about something else."""
    if not isinstance(error, typer.BadParameter) or not error.message:
        return None  # One that is missing has no value, and its own words.
    if isinstance(error.param_hint, str):
        return error.param_hint
    names = [name for name in getattr(error.param, "opts", ()) if name.startswith("-")]
    return names[0] if names else None


def _value_of(option: str, given: Sequence[str]) -> str | None:
    """The value of an option that was given once, for showing."""
    values = [following for name, following in pairwise(given) if name == option]
    values += [one.removeprefix(f"{option}=") for one in given if one.startswith(f"{option}=")]
    return printable(values[0], chars_max=_VALUE_CHARS_MAX) if len(values) == 1 else None
