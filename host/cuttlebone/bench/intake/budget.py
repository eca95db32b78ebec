"""The rules of an intake's budget: what ends a run, and that something does."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from cuttlebone.bench.findings import Finding, finding
from cuttlebone.bench.sections import section
from cuttlebone.text.json_values import Json, shown

# The form; whether the day exists is for datetime to say, which alone would take any separator,
# a point without a fraction behind it, and zones with seconds or 60 minutes.
_ABSOLUTE: Final = re.compile(r"[0-9W-]+T[0-9:]+(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}(?::?[0-5][0-9])?)")


def budget_errors(intake: Mapping[str, Json]) -> Iterator[Finding]:
    """Give the errors of the budget."""
    budget = section(intake, "budget")
    if budget.get("spend_cap") == "none":
        yield from _uncapped_errors(budget)
    deadline = budget.get("deadline")
    if isinstance(deadline, str) and not is_absolute_time(deadline):
        message = (
            f"{shown(deadline)} is no absolute ISO 8601 time with a zone; "
            "give one such as 2030-01-31T18:00:00+02:00 or 2030-01-31T16:00:00Z"
        )
        yield finding(("budget", "deadline"), message)


def budget_warnings(intake: Mapping[str, Json], after_target: str) -> Iterator[Finding]:
    """Give the warnings of the budget."""
    has_price = "price_usd_h" in section(intake, "hardware")
    if "usd" in section(intake, "budget") and after_target == "keep_climbing" and not has_price:
        message = "without hardware.price_usd_h this cap can never end the run; give the price"
        yield finding(("budget", "usd"), message)


def is_absolute_time(text: str) -> bool:
    """Tell whether `text` is a date and time of day with a zone, in ISO 8601."""
    if _ABSOLUTE.fullmatch(text) is None:
        return False
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _uncapped_errors(budget: Mapping[str, Json]) -> Iterator[Finding]:
    path = ("budget", "spend_cap")
    if budget.get("approved") is not True:
        yield finding(path, "none needs budget.approved: true; somebody must have agreed to it")
    if "deadline" not in budget and "wall_clock_h" not in budget:
        yield finding(path, "none needs an end: give budget.deadline or budget.wall_clock_h")
    for cap in ("usd", "gpu_hours"):
        if cap in budget:
            message = "budget.spend_cap is none, and this is a cap; drop one of the two"
            yield finding(("budget", cap), message)
