"""The rules of quality and budget in an intake."""

from typing import Any

import pytest

from bench.intakes import DIGEST, LOSSY_IMAGE, SMALLEST, TODAY, checked, errors_of, with_relative
from cuttlebone.bench.intake import check_intake
from cuttlebone.bench.intake.budget import is_absolute_time
from cuttlebone.text.documents import read_document


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
    assert errors_of({**LOSSY_IMAGE, **change}) == pointers


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
    intake = with_relative({"modality": "tts", **dict.fromkeys(metrics, 0)})
    intake["modality"] = "tts"
    assert errors_of(intake) == pointers


@pytest.mark.parametrize("key", ["lpips", "ssim", "psnr"])
def test_diagnostics_of_pictures_say_nothing_of_speech(key: str) -> None:
    intake = with_relative(
        {"modality": "tts", "wer_increase_max": 0, "perceptual_score_drop_max": 0}
    )
    intake["modality"] = "tts"
    intake["quality"]["diagnostic_only"] = ["cross_engine_pcm_equality", key]
    assert errors_of(intake) == ["/quality/diagnostic_only/1"]


def test_diagnostics_need_an_acceptance() -> None:
    intake = {**LOSSY_IMAGE, "quality": {"diagnostic_only": ["lpips"]}}
    assert errors_of(intake) == ["/quality/diagnostic_only"]


def test_relative_bounds_need_the_digest_of_their_protocol() -> None:
    intake = with_relative({"modality": "image", "lpips_excess_max": 0, "ocr_cer_increase_max": 0})
    del intake["quality"]["protocol_sha256"]
    assert errors_of(intake) == ["/quality/protocol_sha256"]


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
    report = checked({**SMALLEST, **change})
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
    assert errors_of({**SMALLEST, "budget": budget}) == pointers


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
        "2030-01-01T00:00:00.Z",
        "2030-01-01T00:00:00+02:00:30",
        "2030-01-01T00:00:00+02:60",
        "2030-01-01T00:00:00+0260",
        "2030-01-01T00:00:00+2",
        "now",
        "P1D",
        "+04:00",
    ],
)
def test_these_are_not(text: str) -> None:
    assert not is_absolute_time(text)
