"""The whole check of a run manifest: shape, then rules, then the document with everything filled in."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from cuttlebone.bench.findings import Finding, Report, finding
from cuttlebone.bench.manifest.engines import engine_errors
from cuttlebone.bench.manifest.extra_body import extra_body_errors, extra_body_warnings
from cuttlebone.bench.manifest.pins import SETTINGS, broken_pins
from cuttlebone.bench.schemas import Schema
from cuttlebone.bench.sections import section
from cuttlebone.bench.shape import Shape
from cuttlebone.text.json_values import Json, shown

_SHAPE: Final = Shape(Schema("run-manifest"))
_COMMIT: Final = re.compile(r"[0-9a-fA-F]{40}")
_SHA256: Final = re.compile(r"[0-9a-fA-F]{64}")


def manifest_shape_faults(value: object) -> tuple[Finding, ...]:
    """List where a value breaks the shape of a run manifest."""
    return tuple(fault.finding for fault in _SHAPE.faults(value))


def check_manifest(
    value: object, *, pins: Mapping[str, Json] | None = None, is_repeat: bool = False
) -> Report:
    """Check a run manifest, and fill it in if it has no errors.

    `pins` are the template settings of the run's intake, `workload.chat_template_kwargs` there.
    A manifest whose wheel has no digest yet is a draft, which `is_repeat` turns into an error.
    """
    errors = manifest_shape_faults(value)
    if errors or not isinstance(value, dict):
        return Report(errors)
    manifest = _SHAPE.schema.filled(value)
    body = section(manifest, "workload", "extra_body")
    errors = (
        *_identity_errors(manifest, is_repeat=is_repeat),
        *engine_errors(_engines(manifest)),
        *extra_body_errors(body),
        *broken_pins(pins, section(manifest, *SETTINGS)),
    )
    warnings = tuple(extra_body_warnings(body))
    if errors:
        return Report(errors, warnings)
    is_draft = section(manifest, "harness")["wheel_sha256"] == ""
    return Report((), warnings, manifest, is_draft=is_draft)


def _identity_errors(manifest: Mapping[str, Json], *, is_repeat: bool) -> Iterator[Finding]:
    revision = section(manifest, "model")["revision"]
    if _COMMIT.fullmatch(str(revision)) is None:
        told = f"{shown(revision)} is no full commit; give its 40 hex digits, not a branch or tag"
        yield finding(("model", "revision"), told)
    digest = section(manifest, "harness")["wheel_sha256"]
    path = ("harness", "wheel_sha256")
    if digest == "":
        if is_repeat:
            yield finding(path, "empty: a draft is not repeated; give the SHA-256 of the wheel")
    elif _SHA256.fullmatch(str(digest)) is None:
        told = f"{shown(digest)} is no SHA-256; give 64 hex digits, or an empty text in a draft"
        yield finding(path, told)


def _engines(manifest: Mapping[str, Json]) -> list[dict[str, Json]]:
    engines = manifest["engines"]
    return (
        [engine for engine in engines if isinstance(engine, dict)]
        if isinstance(engines, list)
        else []
    )
