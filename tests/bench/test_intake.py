"""Intakes beyond the vectors: what is filled in, unknown keys, words of breaches, hostile values."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.intakes import (
    SMALLEST,
    TODAY,
    checked,
    errors_of,
    normalised,
    with_relative,
)
from cuttlebone.bench.findings import Verdict
from cuttlebone.bench.intake import check_intake, intake_shape_faults
from cuttlebone.bench.schemas import Schema
from cuttlebone.text.documents import read_document
from json_strategies import json_values


def _keys(schema: object) -> list[str]:
    found: list[str] = []
    if isinstance(schema, dict):
        properties = schema.get("properties")
        found += list(properties) if isinstance(properties, dict) else []
        found += [key for child in schema.values() for key in _keys(child)]
    elif isinstance(schema, list):
        found += [key for child in schema for key in _keys(child)]
    return found


KEYS = sorted(set(_keys(Schema("intake").root)))
WORDS = ["llm", "image", "lossy", "none", "endpoint", "ssh", "fidelity: lossy", "short", "stop"]


@given(json_values(words=WORDS, keys=KEYS))
def test_no_value_raises_anything(value: Any) -> None:
    assert (check_intake(value, today=TODAY).normalised is None) or isinstance(value, dict)


@given(json_values(words=WORDS, keys=KEYS).filter(lambda value: isinstance(value, dict)))
def test_what_is_normalised_has_the_shape_and_stays_as_it_is(value: Any) -> None:
    report = check_intake({**SMALLEST, **value}, today=TODAY)
    if report.normalised is None:
        assert report.errors
        return
    assert intake_shape_faults(report.normalised) == ()
    again = check_intake(report.normalised, today=date(2030, 1, 1))
    assert again.normalised == report.normalised
    assert again.rules == report.rules


STATEMENTS = st.sampled_from(
    ["after_target: stop", "fidelity: lossy", "route: patch", "be quick", "a: b"]
)
PLAUSIBLE = st.fixed_dictionaries(
    {
        "model": st.fixed_dictionaries(
            {"id": st.text(min_size=1)}, optional={"precision": st.just("q8_0")}
        ),
        "modality": st.sampled_from(["llm", "image"]),
        "hardware": st.fixed_dictionaries(
            {"gpu": st.text(min_size=1)},
            optional={"count": st.sampled_from([1, 2.0]), "price_usd_h": st.just(0.5)},
        ),
    },
    optional={
        "non_interactive": st.booleans(),
        "fidelity": st.sampled_from(["lossless", "lossy"]),
        "constraints": st.lists(STATEMENTS, max_size=3) | STATEMENTS,
        "buckets": st.just(["short"]),
        "goals": st.fixed_dictionaries(
            {},
            optional={
                "after_target": st.sampled_from(["stop", "keep_climbing"]),
                "targets": st.just({"rtf": 1}),
                "slo": st.just({}),
            },
        ),
        "budget": st.fixed_dictionaries(
            {}, optional={"usd": st.just(1), "wall_clock_h": st.just(2), "approved": st.booleans()}
        ),
        "quality": st.fixed_dictionaries(
            {},
            optional={
                "preference": st.sampled_from(["exact", "speed"]),
                "budget": st.just({"kl_max": 0.1}),
            },
        ),
        "rule_sources": st.dictionaries(
            st.sampled_from(["after_target", "fidelity", "route"]),
            st.sampled_from(
                ["constraints", "fidelity", "default: stop", "default: lossy, by us", "x"]
            ),
        ),
        "slip": st.just(1),
    },
)


@given(PLAUSIBLE)
def test_checking_again_changes_nothing(intake: dict[str, Any]) -> None:
    first = checked(intake)
    assert first.rules or first.errors
    if first.normalised is None:
        return
    second = check_intake(first.normalised, today=date(2030, 1, 1))
    assert second.normalised == first.normalised
    assert second.rules == first.rules
    assert set(second.warnings) == {found for found in first.warnings if found.pointer != "/slip"}


def test_an_intake_is_filled_in_with_every_default() -> None:
    assert normalised(SMALLEST) == {
        "run_id": "name-RTX-5090-20260131",
        "model": {
            "id": "org/name",
            "architecture_changes": "forbid",
            "kv_cache_dtype_allowed": ["checkpoint_default"],
            "tokenizer": "org/name",
        },
        "modality": "llm",
        "hardware": {"gpu": "RTX 5090", "count": 1},
        "goals": {"lead": "single_user", "after_target": "stop"},
        "io_modes": {"input": "complete", "output": "streaming"},
        "workload": {"max_tokens": 256, "rounds": 5, "prompt_set": "dev"},
        "budget": {"approved": False, "spend_cap": "bounded", "stage_timeboxes": True},
        "fidelity": "lossless",
        "interaction": {"checkpoints": "required", "show_plan": False},
        "repo": {"push": "ask"},
        "non_interactive": False,
        "rule_sources": {
            "after_target": "default: stop, because nothing bounds the run",
            "fidelity": "default: lossless",
            "speculation": "default: off",
            "route": "default: build",
        },
        "candidates": {"max_engines": 5},
    }


def test_defaults_inside_an_object_that_may_be_missing_do_not_make_it_appear() -> None:
    assert "slo" not in normalised(SMALLEST)["goals"]
    goals = {
        "slo": {"ttft_p95_ms": 1},
        "affordability": {"memory_gb_max": 1, "memory_kind": "vram"},
    }
    filled = normalised({**SMALLEST, "goals": goals})["goals"]
    assert filled["slo"] == {"ttft_p95_ms": 1, "max_fail": 0}
    assert filled["affordability"]["offload_allowed"] is False


def test_targets_are_meant_for_all_buckets_of_the_intake() -> None:
    intake = {**SMALLEST, "buckets": ["short", "long"], "goals": {"targets": {"rtf": 1}}}
    assert normalised(intake)["goals"]["targets"]["buckets"] == ["short", "long"]
    intake["goals"]["targets"]["buckets"] = ["long"]
    assert normalised(intake)["goals"]["targets"]["buckets"] == ["long"]


def test_a_whole_number_written_as_a_float_becomes_an_integer() -> None:
    filled = normalised({**SMALLEST, "intake_version": 1.0, "hardware": {"gpu": "x", "count": 2.0}})
    for number, value in ((filled["hardware"]["count"], 2), (filled["intake_version"], 1)):
        assert (number, type(number)) == (value, int)


@pytest.mark.parametrize(
    ("model", "gpu", "run_id"),
    [
        ("/models/Qwen3 8B/", "RTX 5090", "Qwen3-8B-RTX-5090-20260131"),
        ("...", "\u00e9", "model-gpu-20260131"),
        ("m" * 500, "g" * 500, f"{'m' * 34}-{'g' * 34}-20260131"),
    ],
)
def test_a_run_id_is_made_of_model_gpu_and_date(model: str, gpu: str, run_id: str) -> None:
    made = normalised({**SMALLEST, "model": {"id": model}, "hardware": {"gpu": gpu}})["run_id"]
    assert made == run_id
    assert intake_shape_faults({**SMALLEST, "run_id": made}) == ()


def test_unknown_keys_are_warned_of_wherever_they_stand_and_left_out() -> None:
    intake = {
        **SMALLEST,
        "note": 1,
        "hardware": {"gpu": "x", "access": {"kind": "local", "pasword": "pw"}},
    }
    report = checked(intake)
    assert report.verdict is Verdict.ACCEPT_WITH_WARNING
    assert [found.pointer for found in report.warnings] == ["/hardware/access/pasword", "/note"]
    assert "known here are: kind, host, port, user, key_path" in report.warnings[0].message
    assert report.normalised is not None
    assert "note" not in report.normalised
    assert "pw" not in str(report)


def test_an_unknown_key_among_relative_bounds_is_an_error() -> None:
    intake = with_relative({"modality": "image", "lpips_excess_max": 0.1, "lpips": 1})
    assert errors_of(intake) == ["/quality/budget/relative/lpips"]
    wrong_modality = with_relative(
        {"modality": "image", "wer_increase_max": 1, "lpips_excess_max": 1}
    )
    assert errors_of(wrong_modality) == ["/quality/budget/relative/wer_increase_max"]
    (found,) = checked(wrong_modality).errors
    assert "known here are: modality, lpips_excess_max" in found.message
    assert found.message.count("wer_increase_max") == 1


def test_an_object_that_holds_only_slips_is_empty() -> None:
    assert errors_of({**SMALLEST, "quality": {"budget": {"kl": 1}}}) == ["/quality/budget"]


def test_breaches_stand_in_the_order_of_the_document() -> None:
    intake = {"z": 1, "hardware": {"gpu": "", "count": 0}, "model": {}, "a": 1, "modality": "x"}
    pointers = ["/z", "/hardware/gpu", "/hardware/count", "/model/id", "/a", "/modality"]
    assert [found.pointer for found in intake_shape_faults(intake)] == pointers


def test_an_unknown_key_does_not_hide_other_faults() -> None:
    report = checked({**SMALLEST, "note": 1, "modality": "smell"})
    assert [found.pointer for found in report.errors] == ["/modality"]
    assert [found.pointer for found in report.warnings] == ["/note"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"modality": "LLM"}, ['"LLM"', "must be one of", '"llm", "tts", "stt", "video", "image"']),
        ({"intake_version": True}, ["true", "must be 1"]),
        ({"run_id": "a\n"}, ['"a\\n"', "a directory name of 1 to 80 characters"]),
        ({"hardware": {"gpu": "x", "count": 1.5}}, ["1.5", "must be a whole number"]),
        ({"hardware": {"gpu": "x", "price_usd_h": 0}}, ["0", "must be over 0"]),
        ({"workload": {"max_tokens": 1}}, ["1", "must be at least 2"]),
        ({"candidates": {"max_engines": 9}}, ["9", "must be at most 8"]),
        ({"buckets": ["short", "short"]}, ["a list", "must not hold an item twice"]),
        ({"model": {"id": ""}}, ['""', "at least 1 character"]),
        ({"hardware": {}}, ["missing", "must be text"]),
        ({"hardware": {"gpu": "x", "access": {}}}, ["missing", 'must be one of "ssh", "local"']),
        (
            {"hardware": {"gpu": "x", "access": {"kind": "ssh", "host": "h"}}},
            ["missing", "must be text"],
        ),
        (
            {"quality": {"budget": {"relative": {"lpips_excess_max": 1, "ssim_loss_max": 1}}}},
            ["missing", 'must be one of "image", "tts", "stt"'],
        ),
        ({"quality": {"noise_floor": "some"}}, ['"some"', 'must be "measure"']),
        ({"quality": {"reference": {"kind": "api"}}}, ['"api"', '"none", "endpoint"']),
    ],
)
def test_a_breach_says_value_rule_and_what_is_accepted(
    change: dict[str, Any], words: list[str]
) -> None:
    (found,) = checked({**SMALLEST, **change}).errors
    assert [word for word in words if word not in found.message] == []


def test_a_document_that_is_no_json_is_reported_not_raised() -> None:
    for value in ({1: 2}, [()], {"\ud800": 1}, {"a": float("nan")}, {"a": 10**5000}):
        assert checked(value).verdict is Verdict.REJECT


def test_the_example_in_the_docs_is_right() -> None:
    page = (Path(__file__).parents[2] / "docs/intake-manifest.md").read_text(encoding="utf-8")
    report = checked(read_document(page.split("```yaml\n")[1].split("```")[0].encode()))
    assert report.verdict is Verdict.ACCEPT
    assert report.rules["speculation"].source == "constraints"
