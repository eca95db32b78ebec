"""The golden messages in abi/vectors, read into cases."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

VECTORS: Final = Path(__file__).resolve().parents[2] / "abi" / "vectors"


@dataclass(frozen=True, slots=True)
class Golden:
    """One message: valid with the `value` that a reader sees, or invalid at `path` for `reason`."""

    name: str
    kind: str
    raw: bytes
    value: Any = None
    path: str = ""
    reason: str = ""


def golden(folder: str, *kinds: str) -> list[Golden]:
    """All vectors of these kinds in `valid` or `invalid`, by name."""
    found = [_read(path) for path in sorted((VECTORS / folder).glob("*.json"))]
    return [vector for vector in found if vector.kind in kinds]


def each(folder: str, *kinds: str) -> pytest.MarkDecorator:
    """Run a test once for each vector of these kinds."""
    vectors = golden(folder, *kinds)
    assert vectors, f"no vector of {kinds} in {folder}"
    return pytest.mark.parametrize("vector", vectors, ids=[vector.name for vector in vectors])


def _read(path: Path) -> Golden:
    content = json.loads(path.read_text(encoding="utf-8"))
    raw = (
        content["text"].encode()
        if "text" in content
        else base64.b64decode(content["base64"], validate=True)
    )
    return Golden(
        name=path.stem,
        kind=content["kind"],
        raw=raw,
        value=content.get("value"),
        path=content.get("path", ""),
        reason=content.get("reason", ""),
    )
