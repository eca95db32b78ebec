"""Specs for each way in which a job can end, a host process that serves them, and a command line."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from cli.blocks import write_specs
from cli.terminals import Ended, OnTerminal
from cuttlebone.cli import main
from cuttlebone.cli.host_process import host_process

Cli = Callable[..., Ended]
Terminal = Callable[..., OnTerminal]


@pytest.fixture(scope="session")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_specs(tmp_path_factory.mktemp("specs"))


@pytest.fixture(scope="session")
def host(specs: Path) -> Iterator[str]:
    """The URL of a real host process."""
    with host_process(["--specs", str(specs)]) as url:
        yield url


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command in this process."""

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        status = main(arguments)
        written = capsys.readouterr()
        return Ended(status, written.out, written.err)

    return run


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """Starts a command on a terminal, and ends it with the test."""
    started: list[OnTerminal] = []

    def start(*arguments: str, environment: Mapping[str, str] | None = None) -> OnTerminal:
        started.append(OnTerminal(*arguments, environment=environment))
        return started[-1]

    yield start
    for one in started:
        one.close()
