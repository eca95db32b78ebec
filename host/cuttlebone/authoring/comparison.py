"""What a case expects beside what came of it: equal or not, and the difference for a reader."""

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from cuttlebone.authoring.case import Expectation
from cuttlebone.authoring.long_lines import marked
from cuttlebone.text.json_values import json_equal
from cuttlebone_abi import Envelope, Json


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: its envelope, and all that the block emitted."""

    envelope: Envelope
    progress: tuple[Json, ...]

    def as_json(self) -> dict[str, Json]:
        """The envelope and the progress as one object, the form that an expectation has."""
        return {**self.envelope.model_dump(mode="json"), "progress": list(self.progress)}


def difference(expect: Expectation, outcome: Outcome) -> list[str]:
    """Lines of a unified diff from what is expected to what came; none if it is as expected.

    They have what was compared and nothing else; why a job failed that was to complete follows them.
    """
    stated = expect.model_dump(mode="json", exclude_unset=True)
    came = outcome.as_json()
    compared = _restricted(stated, came)
    if json_equal(stated, compared):
        return []
    lines = difflib.unified_diff(
        _lines(stated), _lines(compared), "expected", "came", lineterm="", n=5
    )
    return [*marked(list(lines)), *_reason(came, compared)]


def _reason(came: dict[str, Json], compared: dict[str, Json]) -> list[str]:
    match came.get("error"):
        case {"code": str(code), "message": str(message)} if "error" not in compared:
            return [f"not compared: it ended as {code}: {message}"]
        case _:
            return []


def recorded(expect: Expectation | None, outcome: Outcome) -> dict[str, Json]:
    """What to expect from now on: status with result or error, and whatever else was stated."""
    came = outcome.as_json()
    stated = {} if expect is None else expect.model_dump(mode="json", exclude_unset=True)
    wanted = {"status": None, "result": None, "error": came.get("error", {})}
    if stated.get("status") == came["status"]:
        wanted |= {name: stated[name] for name in ("error",) if name in stated}
    wanted |= {name: stated[name] for name in ("usage", "progress") if name in stated}
    return _restricted(wanted, came)


def _restricted(stated: dict[str, Json], came: dict[str, Json]) -> dict[str, Json]:
    """The part of `came` that `stated` speaks of."""
    return dict(_parts(stated, came))


def _parts(stated: dict[str, Json], came: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, value in stated.items():
        if name not in came:
            continue
        if name in {"error", "usage"}:
            yield name, {key: came[name][key] for key in value if key in came[name]}
        else:
            yield name, came[name]


def _lines(value: Json) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True).splitlines()
