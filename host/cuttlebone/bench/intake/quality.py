"""The rules of an intake's quality section: what may be lost, how it is judged, what is only looked at."""

from collections.abc import Iterator, Mapping
from typing import Final

from cuttlebone.bench.findings import Finding, finding
from cuttlebone.bench.sections import section
from cuttlebone.text.json_values import Json, Path, shown

TASK_BOUNDS: Final = frozenset(
    {"ocr_cer_increase_max", "semantic_score_drop_max"}
    | {"wer_increase_max", "cer_increase_max", "completion_failure_increase_max"}
)
PERCEPTUAL_BOUNDS: Final = frozenset(
    {
        "lpips_excess_max",
        "ssim_loss_max",
        "speaker_similarity_drop_max",
        "perceptual_score_drop_max",
    }
)
_OF_PICTURES: Final = frozenset({"lpips", "ssim", "psnr"})
_OF_SPEECH: Final = frozenset({"cross_engine_pcm_equality", "cross_engine_generated_code_equality"})
_NOT_OF: Final = {"image": _OF_SPEECH, "tts": _OF_PICTURES}
"""Diagnostics that say nothing of a modality; the others apply to both."""

_QUALITY: Final[Path] = ("quality",)
_BUDGET: Final[Path] = ("quality", "budget")
_RELATIVE: Final[Path] = ("quality", "budget", "relative")


def quality_errors(intake: Mapping[str, Json], fidelity: str) -> Iterator[Finding]:
    """Give the errors of the quality section under a fidelity."""
    quality = section(intake, "quality")
    if fidelity == "lossy" and intake.get("non_interactive") is True and not quality.get("budget"):
        message = (
            "a lossy run that asks nobody needs quality.budget, which says what may be lost; "
            "give at least one bound, or set non_interactive to false"
        )
        yield finding(_BUDGET, message)
    if "relative" in section(quality, "budget"):
        yield from _relative_errors(intake, fidelity)
    if "acceptance" in quality:
        yield from _acceptance_errors(intake)
    if "diagnostic_only" in quality:
        yield from _diagnostic_errors(intake)


def quality_warnings(intake: Mapping[str, Json], fidelity: str) -> Iterator[Finding]:
    """Give the warnings of the quality section under a fidelity."""
    budget = section(intake, *_BUDGET)
    if fidelity == "lossy" and intake.get("non_interactive") is not True and not budget:
        yield finding(_BUDGET, "a lossy run without quality.budget: nothing bounds what is lost")
    if fidelity == "lossless" and budget.keys() - {"relative"}:
        message = "quality.budget is ignored while fidelity is lossless; drop it, or set lossy"
        yield finding(_BUDGET, message)


def _relative_errors(intake: Mapping[str, Json], fidelity: str) -> Iterator[Finding]:
    relative = section(intake, *_RELATIVE)
    if fidelity == "lossless":
        message = "relative bounds allow a loss, and fidelity is lossless; set fidelity to lossy"
        yield finding(_RELATIVE, message)
    if "protocol_sha256" not in section(intake, "quality"):
        message = "missing, and relative bounds need it: the SHA-256 of the protocol they go by"
        yield finding((*_QUALITY, "protocol_sha256"), message)
    if relative.get("modality") != intake.get("modality"):
        message = (
            f"{shown(relative.get('modality'))} is not the modality of the intake; "
            f"it must be {shown(intake.get('modality'))}"
        )
        yield finding((*_RELATIVE, "modality"), message)


def _acceptance_errors(intake: Mapping[str, Json]) -> Iterator[Finding]:
    path = (*_QUALITY, "acceptance")
    if intake.get("modality") not in _NOT_OF:
        message = (
            f"is for image and tts, and the modality is {shown(intake.get('modality'))}; drop it"
        )
        yield finding(path, f"quality.acceptance {message}")
        return
    bounds = section(intake, *_RELATIVE).keys()
    for name, covering in (("task", TASK_BOUNDS), ("perceptual", PERCEPTUAL_BOUNDS)):
        if not bounds & covering:
            message = (
                f"needs a relative bound on {name} quality in quality.budget.relative: "
                f"one of {', '.join(sorted(covering))}, as far as the modality has it"
            )
            yield finding(path, f"quality.acceptance {message}")


def _diagnostic_errors(intake: Mapping[str, Json]) -> Iterator[Finding]:
    path = (*_QUALITY, "diagnostic_only")
    quality = section(intake, "quality")
    if "acceptance" not in quality:
        message = "needs quality.acceptance, which says what counts instead; add it, or drop this"
        yield finding(path, f"quality.diagnostic_only {message}")
    modality = intake.get("modality")
    listed = quality["diagnostic_only"]
    for at, key in enumerate(listed if isinstance(listed, list) else []):
        if key in _NOT_OF.get(str(modality), frozenset()):
            yield finding((*path, at), f"{shown(key)} says nothing of {modality}; drop it")
