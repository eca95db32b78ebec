"""Intakes that the tests start from, and short ways to check one."""

from datetime import date
from typing import Any

from cuttlebone.bench.findings import Report
from cuttlebone.bench.intake import check_intake

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


def with_relative(relative: dict[str, Any]) -> dict[str, Any]:
    """Give the lossy intake with other relative bounds."""
    return {**LOSSY_IMAGE, "quality": {**LOSSY_IMAGE["quality"], "budget": {"relative": relative}}}


def checked(intake: object) -> Report:
    """Check an intake on a fixed day."""
    return check_intake(intake, today=TODAY)


def errors_of(intake: object) -> list[str]:
    """List the pointers of the errors."""
    return [found.pointer for found in checked(intake).errors]


def normalised(intake: object) -> dict[str, Any]:
    """Give an intake filled in."""
    report = checked(intake)
    assert report.normalised is not None, report.errors
    return report.normalised
