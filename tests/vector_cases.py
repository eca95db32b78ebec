"""The vectors in tests/vectors: JSON arrays of name, input and expected, one test a case.

A file can be exchanged for another of the same form without any change here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parent / "vectors"


def vectors(name: str) -> pytest.MarkDecorator:
    """Run a test once for each case of a file, with its `given` and `expected`."""
    cases = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    assert cases, f"{name}.json holds no case"
    params = [
        pytest.param(case["input"], case["expected"], id=_id(at, case["name"]))
        for at, case in enumerate(cases)
    ]
    return pytest.mark.parametrize(("given", "expected"), params)


def found(document: Any, key: str) -> Any:
    """Give the value of a key at the top of a document, or wherever inside it stands first."""
    values = _values_of(document, key)
    assert values, f"{key} is nowhere in {document}"
    return values[0]


def stands_in(document: Any, key: str) -> bool:
    """Tell whether a key stands anywhere in a document."""
    return bool(_values_of(document, key))


def _values_of(document: Any, key: str) -> list[Any]:
    pending, values = [document], []
    while pending:
        item = pending.pop(0)
        if isinstance(item, dict):
            values += [item[key]] if key in item else []
            pending.extend(item.values())
    return values


def _id(at: int, name: str) -> str:
    return f"{at}-" + "".join(
        char if char.isascii() and char.isprintable() else "?" for char in name
    )
