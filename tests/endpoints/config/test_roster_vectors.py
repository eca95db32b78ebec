"""The vectors of the roster import."""

from typing import Any

from cuttlebone.endpoints.config.roster import (
    Imported,
    RosterRefused,
    Skipped,
    SkipReason,
    import_roster,
    read_overlay,
)
from cuttlebone.endpoints.config.roster.figures import flavour_of, guessed_latency
from vector_cases import vectors


@vectors("backend_flavor")
def test_the_first_word_names_the_software(given: Any, expected: Any) -> None:
    assert flavour_of(given) == expected


@vectors("roster_latency")
def test_voice_and_realtime_are_guessed_interactive(given: Any, expected: Any) -> None:
    assert guessed_latency(given["id"], given["role"]) == expected


@vectors("ram_gb")
def test_a_memory_figure_is_gigabytes(given: Any, expected: Any) -> None:
    figure = "" if given is None else f"  ram_gb: {given}\n"
    result = import_roster(f"roster:\n- id: a\n  backend: ollama\n{figure}")
    if expected == "reject":
        assert [row.reason for row in result.skipped] == [SkipReason.RAM_GB]
    else:
        assert [row.spec.memory.weights_bytes for row in result.imported] == [expected]


@vectors("roster_import")
def test_every_entry_is_imported_or_skipped_with_its_reason(given: Any, expected: Any) -> None:
    assert _outcome(given) == expected


@vectors("roster_limits")
def test_a_roster_has_a_bound(given: Any, expected: Any) -> None:
    outcome = _outcome({"roster": _generated(**given["generate"])})
    if "error" in expected:
        assert outcome == expected
    else:
        assert len(outcome["imported"]) == expected["imported_count"]


def _outcome(given: Any) -> dict[str, Any]:
    try:
        text = given.get("overlay")
        overlay = None if text is None else read_overlay(text)
        result = import_roster(given["roster"], overlay)
    except RosterRefused as refusal:
        return {"error": refusal.fault}
    return {
        "imported": [_imported(row) for row in result.imported],
        "skipped": [[row.id, _reason(row)] for row in result.skipped],
    }


def _imported(row: Imported) -> dict[str, Any]:
    return {
        "role": row.spec.role,
        "runtime": row.spec.runtime,
        "model": row.spec.model,
        "port": row.spec.serve.port,
        "weights_bytes": row.spec.memory.weights_bytes,
        "kv_budget_bytes": row.spec.memory.kv_budget_bytes,
        "excludes": list(row.spec.excludes),
        "latency_class": row.spec.latency_class,
        "sticky": row.spec.sticky,
        "repo": row.repo,
        "status": row.status,
    }


def _reason(row: Skipped) -> str:
    return f"alias of {row.alias_of}" if row.reason is SkipReason.ALIAS else row.reason


def _generated(entries: int = 0, bytes: int = 0) -> str:  # noqa: A002  # the vectors' own word
    rows = "".join(
        f"- {{id: a{at}, backend: ollama, ram_gb: 1, repo: r{at}}}\n" for at in range(entries)
    )
    text = f"roster:\n{rows}" if rows else "roster: []\n"
    return text + "#" * (bytes - len(text))
