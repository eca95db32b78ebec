"""The whole check of an intake: shape, then rules, then the document with everything filled in."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Final

from cuttlebone.bench.findings import Finding, Report, RuleValue
from cuttlebone.bench.intake.budget import budget_errors, budget_warnings
from cuttlebone.bench.intake.quality import quality_errors, quality_warnings
from cuttlebone.bench.intake.run_rules import AFTER_TARGET, FIDELITY, FIELDS, run_rules
from cuttlebone.bench.schemas import Schema
from cuttlebone.bench.sections import section
from cuttlebone.bench.shape import Shape, ShapeFault
from cuttlebone.text.json_values import Json, Path

_SHAPE: Final = Shape(Schema("intake"))
_STRICT: Final[Path] = ("quality", "budget", "relative")
"""The one place where an unknown key is an error: a bound that is ignored would allow any loss."""
_NAME_CHARS_MAX: Final = 34
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


def intake_shape_faults(value: object) -> tuple[Finding, ...]:
    """List where a value breaks the shape of an intake; unknown keys are breaches here."""
    return tuple(fault.finding for fault in _SHAPE.faults(value))


def check_intake(value: object, *, today: date) -> Report:
    """Check an intake, and fill it in if it has no errors.

    Unknown keys are warnings and left out of the normalised document. `today`, in UTC, becomes part
    of the run id if the intake names none.
    """
    faults = _SHAPE.faults(value)
    slips = tuple(fault for fault in faults if _is_slip(fault))
    warnings = tuple(fault.finding for fault in slips)
    errors = tuple(fault.finding for fault in faults if not _is_slip(fault))
    if errors or not isinstance(value, dict):
        return Report(errors, warnings)
    intake = _without(value, {(*fault.path, str(fault.unknown)) for fault in slips})
    emptied = tuple(fault.finding for fault in _SHAPE.faults(intake))
    if emptied:
        # An object that held nothing but slips may now hold too little.
        return Report(emptied, warnings)
    return _checked(_SHAPE.schema.filled(intake), warnings, today)


def _is_slip(fault: ShapeFault) -> bool:
    return fault.unknown is not None and fault.path != _STRICT


def _checked(intake: dict[str, Json], warnings: tuple[Finding, ...], today: date) -> Report:
    rules, contradictions = run_rules(intake)
    if contradictions:
        # Without a fidelity, what is said of quality cannot be judged.
        return Report((*contradictions, *budget_errors(intake)), warnings)
    fidelity = rules[FIDELITY].value
    errors = (*quality_errors(intake, fidelity), *budget_errors(intake))
    warnings = (
        *warnings,
        *budget_warnings(intake, rules[AFTER_TARGET].value),
        *quality_warnings(intake, fidelity),
    )
    normalised = None if errors else _normalised(intake, rules, today)
    return Report(errors, warnings, normalised, rules=rules)


def _normalised(
    intake: dict[str, Json], rules: Mapping[str, RuleValue], today: date
) -> dict[str, Json]:
    """Fill in what depends on other fields. `intake` has the defaults of its schema."""
    model = dict(section(intake, "model"))
    model.setdefault("tokenizer", model["id"])
    if "precision" in model:
        model.setdefault("precision_allowed", [model["precision"]])
    gpu = section(intake, "hardware")["gpu"]
    filled: dict[str, Json] = {
        **intake,
        "run_id": intake.get("run_id", _run_id(str(model["id"]), str(gpu), today)),
        "model": model,
        "rule_sources": {name: rule.source for name, rule in rules.items()},
    }
    goals = dict(section(intake, "goals"))
    targets = goals.get("targets")
    if isinstance(targets, dict) and "buckets" in intake:
        goals["targets"] = {"buckets": intake["buckets"], **targets}
    filled["goals"] = goals
    for name, path in FIELDS.items():
        holder = goals if len(path) > 1 else filled
        holder[path[-1]] = rules[name].value
    return _SHAPE.schema.filled(filled)


def _run_id(model: str, gpu: str, today: date) -> str:
    """Make a directory name of the model's own name, the GPU and the date."""
    own_name = model.rstrip("/").rpartition("/")[2]
    return f"{_slug(own_name, 'model')}-{_slug(gpu, 'gpu')}-{today:%Y%m%d}"


def _slug(text: str, otherwise: str) -> str:
    slug = _UNFIT.sub("-", text).lstrip("-._")[:_NAME_CHARS_MAX].rstrip("-._")
    return slug or otherwise


def _without(value: Mapping[str, Json], left_out: set[Path], path: Path = ()) -> dict[str, Json]:
    """Give a copy of an object without what certain paths lead to."""
    return {
        key: _copied(item, left_out, (*path, key))
        for key, item in value.items()
        if (*path, key) not in left_out
    }


def _copied(value: Json, left_out: set[Path], path: Path) -> Json:
    match value:
        case dict():
            return _without(value, left_out, path)
        case list():
            return [_copied(item, left_out, (*path, at)) for at, item in enumerate(value)]
        case _:
            return value
