"""Pins: template settings of an intake that its run manifest must repeat."""

from collections.abc import Mapping
from typing import Final

from cuttlebone.bench.findings import Finding, finding
from cuttlebone.bench.sections import section
from cuttlebone.text.json_values import Json, Path, json_equal, shown

SETTINGS: Final[Path] = ("workload", "chat_template_kwargs")


def pins_of(intake: Mapping[str, Json]) -> Mapping[str, Json]:
    """Give the pins of an intake: its own template settings."""
    return section(intake, *SETTINGS)


def broken_pins(
    pins: Mapping[str, Json] | None, settings: Mapping[str, Json] | None
) -> tuple[Finding, ...]:
    """Give an error for each pinned key that `settings` lacks or gives another value.

    Settings that nobody pinned are free. None stands for no pins, and for no settings.
    """
    given = {} if settings is None else settings
    errors: list[Finding] = []
    for key, pinned in ({} if pins is None else pins).items():
        path = (*SETTINGS, key)
        if key not in given:
            errors.append(finding(path, f"missing; the intake pins it to {shown(pinned)}"))
        elif not json_equal(pinned, given[key]):
            told = f"{shown(given[key])} is not what the intake pins it to, {shown(pinned)}"
            errors.append(finding(path, f"{told}; repeat that value"))
    return tuple(errors)
