"""Intakes beyond the vectors: run rules and their sources, quality, budget, defaults, traps."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.bench.findings import Report, Verdict
from cuttlebone.bench.intake import check_intake, intake_shape_faults
from cuttlebone.bench.intake.budget import is_absolute_time
from cuttlebone.bench.schemas import Schema
from cuttlebone.text.documents import read_document
from json_strategies import json_values

TODAY = date(2026, 1, 31)
SMALLEST: dict[str, Any] = {
    "model": {"id": "org/name"},
    "modality": "llm",
    "hardware": {"gpu": "RTX 5090"},
}
DIGEST = "a" * 64
LOSSY_IMAGE: dict[str, Any] = {
    **SMALLEST,
    "modality": "image",
    "fidelity": "lossy",
    "quality": {
        "protocol_sha256": DIGEST,
        "acceptance": "perceptual_and_task_noninferiority",
        "budget": {
            "relative": {"modality": "image", "lpips_excess_max": 0.1, "ocr_cer_increase_max": 0.1}
        },
    },
}


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
    first = _check(intake)
    assert first.rules or first.errors
    if first.normalised is None:
        return
    second = check_intake(first.normalised, today=date(2030, 1, 1))
    assert second.normalised == first.normalised
    assert second.rules == first.rules
    assert set(second.warnings) == {found for found in first.warnings if found.pointer != "/slip"}


def test_an_intake_is_filled_in_with_every_default() -> None:
    assert _normalised(SMALLEST) == {
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
    assert "slo" not in _normalised(SMALLEST)["goals"]
    goals = {
        "slo": {"ttft_p95_ms": 1},
        "affordability": {"memory_gb_max": 1, "memory_kind": "vram"},
    }
    filled = _normalised({**SMALLEST, "goals": goals})["goals"]
    assert filled["slo"] == {"ttft_p95_ms": 1, "max_fail": 0}
    assert filled["affordability"]["offload_allowed"] is False


def test_targets_are_meant_for_all_buckets_of_the_intake() -> None:
    intake = {**SMALLEST, "buckets": ["short", "long"], "goals": {"targets": {"rtf": 1}}}
    assert _normalised(intake)["goals"]["targets"]["buckets"] == ["short", "long"]
    intake["goals"]["targets"]["buckets"] = ["long"]
    assert _normalised(intake)["goals"]["targets"]["buckets"] == ["long"]


def test_a_whole_number_written_as_a_float_becomes_an_integer() -> None:
    count = _normalised({**SMALLEST, "hardware": {"gpu": "x", "count": 2.0}})["hardware"]["count"]
    assert (count, type(count)) == (2, int)


@pytest.mark.parametrize(
    ("model", "gpu", "run_id"),
    [
        ("/models/Qwen3 8B/", "RTX 5090", "Qwen3-8B-RTX-5090-20260131"),
        ("...", "\u00e9", "model-gpu-20260131"),
        ("m" * 500, "g" * 500, f"{'m' * 34}-{'g' * 34}-20260131"),
    ],
)
def test_a_run_id_is_made_of_model_gpu_and_date(model: str, gpu: str, run_id: str) -> None:
    made = _normalised({**SMALLEST, "model": {"id": model}, "hardware": {"gpu": gpu}})["run_id"]
    assert made == run_id
    assert intake_shape_faults({**SMALLEST, "run_id": made}) == ()


def test_unknown_keys_are_warned_of_wherever_they_stand_and_left_out() -> None:
    intake = {
        **SMALLEST,
        "note": 1,
        "hardware": {"gpu": "x", "access": {"kind": "local", "pasword": "pw"}},
    }
    report = _check(intake)
    assert report.verdict is Verdict.ACCEPT_WITH_WARNING
    assert [found.pointer for found in report.warnings] == ["/hardware/access/pasword", "/note"]
    assert "known here are: kind, host, port, user, key_path" in report.warnings[0].message
    assert report.normalised is not None
    assert "note" not in report.normalised
    assert "pw" not in str(report)


def test_an_unknown_key_among_relative_bounds_is_an_error() -> None:
    intake = _with_relative({"modality": "image", "lpips_excess_max": 0.1, "lpips": 1})
    assert _errors(intake) == ["/quality/budget/relative/lpips"]
    wrong_modality = _with_relative(
        {"modality": "image", "wer_increase_max": 1, "lpips_excess_max": 1}
    )
    assert _errors(wrong_modality) == ["/quality/budget/relative/wer_increase_max"]


def test_an_object_that_holds_only_slips_is_empty() -> None:
    assert _errors({**SMALLEST, "quality": {"budget": {"kl": 1}}}) == ["/quality/budget"]


def test_an_unknown_key_does_not_hide_other_faults() -> None:
    report = _check({**SMALLEST, "note": 1, "modality": "smell"})
    assert [found.pointer for found in report.errors] == ["/modality"]
    assert [found.pointer for found in report.warnings] == ["/note"]


@pytest.mark.parametrize(
    ("change", "source", "value"),
    [
        ({"goals": {"after_target": "stop"}}, "goals.after_target", "stop"),
        ({"constraints": "after_target: keep_climbing"}, "constraints", "keep_climbing"),
        (
            {"non_interactive": True},
            "default: keep_climbing, because non_interactive is true",
            "keep_climbing",
        ),
        (
            {"budget": {"usd": 1}},
            "default: keep_climbing, because budget.usd is set",
            "keep_climbing",
        ),
        (
            {"budget": {"deadline": "2030-01-01T00:00Z"}},
            "default: stop, because nothing bounds the run",
            "stop",
        ),
    ],
)
def test_the_source_of_a_rule_is_recorded_and_kept(
    change: dict[str, Any], source: str, value: str
) -> None:
    first = _check({**SMALLEST, **change})
    second = check_intake(first.normalised, today=TODAY)
    for report in (first, second):
        normalised: Any = report.normalised
        assert normalised["goals"]["after_target"] == value
        assert normalised["rule_sources"]["after_target"] == source


def test_a_preference_gives_fidelity() -> None:
    for preference, fidelity in (("exact", "lossless"), ("balanced", "lossy"), ("speed", "lossy")):
        first = _check({**SMALLEST, "quality": {"preference": preference}})
        second = check_intake(first.normalised, today=TODAY)
        for report in (first, second):
            assert report.rules["fidelity"].value == fidelity
            assert report.rules["fidelity"].source == "quality.preference"


def test_a_field_that_was_filled_in_and_then_changed_by_hand_is_a_statement() -> None:
    normalised = _normalised(SMALLEST)
    normalised["goals"]["after_target"] = "keep_climbing"
    rules = _check(normalised).rules
    assert rules["after_target"].value == "keep_climbing"
    assert rules["after_target"].source == "goals.after_target"


def test_a_foreign_default_is_kept_as_it_was_written() -> None:
    intake = {
        **SMALLEST,
        "fidelity": "lossless",
        "rule_sources": {"fidelity": "default: house rule"},
    }
    assert _check(intake).rules["fidelity"].source == "default: house rule"


@pytest.mark.parametrize("source", ["constraints", "by hand", "default:", ""])
def test_a_source_that_cannot_be_is_corrected(source: str) -> None:
    intake = {**SMALLEST, "fidelity": "lossless", "rule_sources": {"fidelity": source}}
    assert _check(intake).rules["fidelity"].source == "fidelity"


@pytest.mark.parametrize(
    "constraints",
    [
        "route: patch",
        " route :patch ",
        ["be quick", "route: patch"],
        ["no cloud; route: patch; be nice: really"],
        ["route: patch", "route: patch;"],
        "x;;route: patch",
        "be quick\nroute: patch\n",
    ],
)
def test_rules_are_read_in_free_text(constraints: Any) -> None:
    assert _check({**SMALLEST, "constraints": constraints}).rules["route"].value == "patch"


@pytest.mark.parametrize(
    "constraints",
    ["Route: patch", "route patch", "the route: patch", "route, patch", "routes: patch", []],
)
def test_other_free_text_is_left_alone(constraints: Any) -> None:
    assert _check({**SMALLEST, "constraints": constraints}).rules["route"].value == "build"


@pytest.mark.parametrize(
    ("intake", "pointer"),
    [
        ({"constraints": ["a", "fidelity: high"]}, "/constraints/1"),
        ({"constraints": "speculation: on"}, "/constraints"),
        ({"constraints": "route:"}, "/constraints"),
        ({"constraints": ["route: patch", "route: build"]}, "/constraints/1"),
        ({"constraints": "route: patch; route: build"}, "/constraints"),
        (
            {"goals": {"after_target": "stop"}, "constraints": ["after_target: keep_climbing"]},
            "/constraints/0",
        ),
        ({"fidelity": "lossless", "quality": {"preference": "speed"}}, "/quality/preference"),
    ],
)
def test_a_rule_has_one_value_and_a_known_one(intake: dict[str, Any], pointer: str) -> None:
    assert _errors({**SMALLEST, **intake}) == [pointer]


def test_a_contradiction_does_not_hide_what_is_wrong_with_the_budget() -> None:
    intake = {**SMALLEST, "constraints": "route: x", "budget": {"deadline": "soon"}}
    assert _errors(intake) == ["/constraints", "/budget/deadline"]


def test_an_unquoted_rule_in_a_yaml_list_is_a_mapping_and_refused() -> None:
    text = "model: {id: a}\nmodality: llm\nhardware: {gpu: x}\nconstraints:\n- speculation: off\n"
    report = check_intake(read_document(text.encode()), today=TODAY)
    (found,) = report.errors
    assert found.pointer == "/constraints/0"
    assert found.message == "an object must be text; in YAML, quote it"


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        ({}, []),
        (
            {"quality": {**LOSSY_IMAGE["quality"], "diagnostic_only": ["psnr", "rounding_drift"]}},
            [],
        ),
        (
            {
                "quality": {
                    **LOSSY_IMAGE["quality"],
                    "diagnostic_only": ["ssim", "cross_engine_pcm_equality"],
                }
            },
            ["/quality/diagnostic_only/1"],
        ),
        (
            {"quality": {"acceptance": "perceptual_and_task_noninferiority"}},
            ["/quality/acceptance"] * 2,
        ),
        ({"modality": "stt"}, ["/quality/budget/relative/modality", "/quality/acceptance"]),
        ({"fidelity": "lossless"}, ["/quality/budget/relative"]),
        ({"fidelity": None}, ["/fidelity"]),
    ],
)
def test_quality_of_images(change: dict[str, Any], pointers: list[str]) -> None:
    assert _errors({**LOSSY_IMAGE, **change}) == pointers


@pytest.mark.parametrize(
    ("metrics", "pointers"),
    [
        (["wer_increase_max", "speaker_similarity_drop_max"], []),
        (["completion_failure_increase_max", "perceptual_score_drop_max"], []),
        (["wer_increase_max", "cer_increase_max"], ["/quality/acceptance"]),
        (["perceptual_score_drop_max"], ["/quality/acceptance"]),
        (["new_severe_regressions_max"], ["/quality/acceptance"] * 2),
    ],
)
def test_acceptance_of_speech_needs_task_and_perceptual_bounds(
    metrics: list[str], pointers: list[str]
) -> None:
    intake = _with_relative({"modality": "tts", **dict.fromkeys(metrics, 0)})
    intake["modality"] = "tts"
    assert _errors(intake) == pointers


@pytest.mark.parametrize("key", ["lpips", "ssim", "psnr"])
def test_diagnostics_of_pictures_say_nothing_of_speech(key: str) -> None:
    intake = _with_relative(
        {"modality": "tts", "wer_increase_max": 0, "perceptual_score_drop_max": 0}
    )
    intake["modality"] = "tts"
    intake["quality"]["diagnostic_only"] = ["cross_engine_pcm_equality", key]
    assert _errors(intake) == ["/quality/diagnostic_only/1"]


def test_diagnostics_need_an_acceptance() -> None:
    intake = {**LOSSY_IMAGE, "quality": {"diagnostic_only": ["lpips"]}}
    assert _errors(intake) == ["/quality/diagnostic_only"]


def test_relative_bounds_need_the_digest_of_their_protocol() -> None:
    intake = _with_relative({"modality": "image", "lpips_excess_max": 0, "ocr_cer_increase_max": 0})
    del intake["quality"]["protocol_sha256"]
    assert _errors(intake) == ["/quality/protocol_sha256"]


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan", "1e999"])
def test_a_bound_is_finite(number: str) -> None:
    text = f"{{model: {{id: a}}, modality: stt, hardware: {{gpu: x}}, fidelity: lossy, quality: {{protocol_sha256: {DIGEST}, budget: {{relative: {{modality: stt, wer_increase_max: {number}}}}}}}}}"
    report = check_intake(read_document(text.encode()), today=TODAY)
    (found,) = report.errors
    assert found.pointer == "/quality/budget/relative/wer_increase_max"
    assert "not finite" in found.message


@pytest.mark.parametrize(
    ("change", "warnings"),
    [
        ({"fidelity": "lossy"}, ["/quality/budget"]),
        ({"quality": {"budget": {"kl_max": 0}}}, ["/quality/budget"]),
        ({"budget": {"usd": 1}}, ["/budget/usd"]),
        ({"budget": {"usd": 1}, "hardware": {"gpu": "x", "price_usd_h": 1}}, []),
        ({"budget": {"usd": 1}, "goals": {"after_target": "stop"}}, []),
        ({"fidelity": "lossy", "non_interactive": True, "quality": {"budget": {"kl_max": 0}}}, []),
    ],
)
def test_warnings_do_not_stop_a_run(change: dict[str, Any], warnings: list[str]) -> None:
    report = _check({**SMALLEST, **change})
    assert report.errors == ()
    assert [found.pointer for found in report.warnings] == warnings


@pytest.mark.parametrize(
    ("budget", "pointers"),
    [
        ({"spend_cap": "none", "approved": True, "deadline": "2030-01-01T00:00:00Z"}, []),
        ({"spend_cap": "none", "approved": False, "wall_clock_h": 1}, ["/budget/spend_cap"]),
        ({"spend_cap": "none"}, ["/budget/spend_cap"] * 2),
        (
            {"spend_cap": "none", "approved": True, "wall_clock_h": 1, "usd": 1, "gpu_hours": 1},
            ["/budget/usd", "/budget/gpu_hours"],
        ),
        ({"spend_cap": "bounded"}, []),
        ({"deadline": "soon"}, ["/budget/deadline"]),
    ],
)
def test_a_budget_without_a_cap_has_an_end_and_an_approval(
    budget: dict[str, Any], pointers: list[str]
) -> None:
    assert _errors({**SMALLEST, "budget": budget}) == pointers


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-01T00:00:00Z",
        "2030-01-01T00:00+02:00",
        "2030-01-01T00:00:00.5-11:30",
        "2030-01-01T00:00:00,123456Z",
        "20300101T000000Z",
        "2030-W01-2T10:00:00+01",
    ],
)
def test_these_are_absolute_times(text: str) -> None:
    assert is_absolute_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-01",
        "2030-01-01T00:00:00",
        "2030-01-01 00:00:00Z",
        "2030-02-30T00:00:00Z",
        "in 4 hours",
        "2030-01-01T25:00:00Z",
        "2030-01-01T00:00:00Z\n",
        " 2030-01-01T00:00:00Z",
        "1893456000",
        "T00:00Z",
        "2030-01-01T00:00:00+02:00[Europe/Rome]",
        "2030-01-01T00:00:00 Z",
        "\u0662030-01-01T00:00:00Z",
        "",
        "2030-01-01T00:00:00+99:00",
        "2030-01-01t00:00:00z",
        "now",
        "P1D",
        "+04:00",
    ],
)
def test_these_are_not(text: str) -> None:
    assert not is_absolute_time(text)


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
        ({"hardware": {}}, ["missing"]),
        ({"quality": {"noise_floor": "some"}}, ['"some"', 'must be "measure"']),
        ({"quality": {"reference": {"kind": "api"}}}, ['"api"', '"none", "endpoint"']),
    ],
)
def test_a_breach_says_value_rule_and_what_is_accepted(
    change: dict[str, Any], words: list[str]
) -> None:
    (found,) = _check({**SMALLEST, **change}).errors
    assert [word for word in words if word not in found.message] == []


def test_a_document_that_is_no_json_is_reported_not_raised() -> None:
    for value in ({1: 2}, [()], {"\ud800": 1}, {"a": float("nan")}, {"a": 10**5000}):
        assert _check(value).verdict is Verdict.REJECT


def _with_relative(relative: dict[str, Any]) -> dict[str, Any]:
    return {**LOSSY_IMAGE, "quality": {**LOSSY_IMAGE["quality"], "budget": {"relative": relative}}}


def _check(intake: object) -> Report:
    return check_intake(intake, today=TODAY)


def _errors(intake: object) -> list[str]:
    return [found.pointer for found in _check(intake).errors]


def _normalised(intake: object) -> dict[str, Any]:
    report = _check(intake)
    assert report.normalised is not None, report.errors
    return report.normalised


def test_the_example_in_the_docs_is_right() -> None:
    page = (Path(__file__).parents[2] / "docs/intake-manifest.md").read_text(encoding="utf-8")
    report = _check(read_document(page.split("```yaml\n")[1].split("```")[0].encode()))
    assert report.verdict is Verdict.ACCEPT
    assert report.rules["speculation"].source == "constraints"
