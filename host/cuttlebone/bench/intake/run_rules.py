"""The four run rules of an intake, each from a field, from free text, or by default."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cuttlebone.bench.findings import Finding, RuleValue, finding
from cuttlebone.bench.sections import section
from cuttlebone.text.json_values import Json, Path, shown

AFTER_TARGET: Final = "after_target"
FIDELITY: Final = "fidelity"
SPECULATION: Final = "speculation"
ROUTE: Final = "route"

VALUES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        AFTER_TARGET: ("stop", "keep_climbing"),
        FIDELITY: ("lossless", "lossy"),
        SPECULATION: ("off", "auto"),
        ROUTE: ("build", "patch"),
    }
)
"""What each rule may say; the first value is taken when nothing speaks for another."""

FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {AFTER_TARGET: ("goals", "after_target"), FIDELITY: ("fidelity",)}
)
"""The rules that have a field of their own."""

CONSTRAINTS: Final = "constraints"
DEFAULT_PREFIX: Final = "default: "
_PREFERENCE: Final = ("quality", "preference")
_FIDELITY_OF: Final = MappingProxyType({"exact": "lossless", "balanced": "lossy", "speed": "lossy"})
_CAPS: Final = ("gpu_hours", "usd", "wall_clock_h")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One place that gives a rule a value."""

    source: str
    path: Path
    value: str


def run_rules(intake: Mapping[str, Json]) -> tuple[dict[str, RuleValue], tuple[Finding, ...]]:
    """Give the value and source of each rule, and an error for each that is given two values.

    `intake` has the shape of one. With errors the values are not to be used.
    """
    said, errors = _from_constraints(intake)
    rules: dict[str, RuleValue] = {}
    for name in VALUES:
        statements = [*_from_fields(name, intake), *said[name]]
        first = statements[0] if statements else None
        for other in statements[1:]:
            if first is not None and other.value != first.value:
                errors.append(_contradiction(name, first, other))
        rules[name] = (
            _default(name, intake) if first is None else _settled(name, statements, intake)
        )
    return rules, tuple(errors)


def _from_fields(name: str, intake: Mapping[str, Json]) -> Iterator[_Statement]:
    path = FIELDS.get(name)
    if path is not None:
        value = section(intake, *path[:-1]).get(path[-1])
        if isinstance(value, str):
            yield _Statement(".".join(path), path, value)
    preference = section(intake, "quality").get("preference")
    if name == FIDELITY and isinstance(preference, str):
        yield _Statement(".".join(_PREFERENCE), _PREFERENCE, _FIDELITY_OF[preference])


def _from_constraints(
    intake: Mapping[str, Json],
) -> tuple[dict[str, list[_Statement]], list[Finding]]:
    """Find `name: value` in the free text, each on a line or between semicolons of its own.

    Text that begins with no rule's name is left alone.
    """
    said: dict[str, list[_Statement]] = {name: [] for name in VALUES}
    errors: list[Finding] = []
    for path, entry in _entries(intake.get(CONSTRAINTS)):
        for part in entry.replace("\n", ";").split(";"):
            name, colon, value = (piece.strip() for piece in part.partition(":"))
            if not colon or name not in VALUES:
                continue
            if value in VALUES[name]:
                said[name].append(_Statement(CONSTRAINTS, path, value))
            else:
                accepted = " or ".join(VALUES[name])
                message = f"the rule {name} is {shown(value)}; it must be {accepted}"
                errors.append(finding(path, message))
    return said, errors


def _entries(constraints: Json) -> Iterator[tuple[Path, str]]:
    match constraints:
        case str():
            yield (CONSTRAINTS,), constraints
        case list():
            for at, entry in enumerate(constraints):
                if isinstance(entry, str):
                    yield (CONSTRAINTS, at), entry
        case _:
            pass


def _settled(name: str, statements: list[_Statement], intake: Mapping[str, Json]) -> RuleValue:
    """Give the value that was stated. A source that an earlier check wrote down stays, if it can."""
    value = statements[0].value
    recorded = section(intake, "rule_sources").get(name)
    if isinstance(recorded, str) and (
        recorded in {statement.source for statement in statements}
        or (_is_field(name, statements[0]) and _tells_default(name, recorded, value))
    ):
        return RuleValue(value, recorded)
    return RuleValue(value, statements[0].source)


def _is_field(name: str, statement: _Statement) -> bool:
    return statement.path == FIELDS.get(name)


def _tells_default(name: str, recorded: str, value: str) -> bool:
    """Tell whether a field was filled in by an earlier check and not changed by hand since."""
    if not recorded.startswith(DEFAULT_PREFIX):
        return False
    words = recorded.removeprefix(DEFAULT_PREFIX).replace(",", " ").split()
    return not words or words[0] == value or words[0] not in VALUES[name]


def _default(name: str, intake: Mapping[str, Json]) -> RuleValue:
    if name != AFTER_TARGET:
        return RuleValue(VALUES[name][0], DEFAULT_PREFIX + VALUES[name][0])
    budget = section(intake, "budget")
    caps = [cap for cap in _CAPS if budget.get(cap) is not None]
    if intake.get("non_interactive") is True:
        value, why = "keep_climbing", "because non_interactive is true"
    elif caps:
        value, why = "keep_climbing", f"because budget.{caps[0]} is set"
    else:
        value, why = "stop", "because nothing bounds the run"
    return RuleValue(value, f"{DEFAULT_PREFIX}{value}, {why}")


def _contradiction(name: str, first: _Statement, other: _Statement) -> Finding:
    message = (
        f"the rule {name} is {other.value} here and {first.value} in {first.source}; "
        "give one value, in one place"
    )
    return finding(other.path, message)
