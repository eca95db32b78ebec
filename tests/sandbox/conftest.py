"""WAT guests, compiled to wasm, and a sandbox to run them in."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import wasmtime

from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.sandbox import Guest, GuestLimits, Sandbox, compile_program
from cuttlebone.settings import Isolation
from sandbox.wat import Opener

GUESTS = Path(__file__).parent.parent / "guests"


@pytest.fixture(scope="session")
def guest_wasm() -> Callable[[str], bytes]:
    """The wasm of a guest in tests/guests, by its name."""
    return lambda name: bytes(wasmtime.wat2wasm((GUESTS / f"{name}.wat").read_text()))


@pytest.fixture(scope="session", params=[Isolation.THREAD, Isolation.PROCESS])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of each kind: one suite runs over both."""
    with Sandbox(isolation=request.param, probe_s_max=2.0) as opened:
        yield opened


@pytest.fixture
def opener(sandbox: Sandbox) -> Iterator[Opener]:
    """Opens guests from WAT text and closes them after the test."""
    guests: list[Guest] = []

    def open_guest(wat: str, limits: GuestLimits | None = None) -> Guest:
        block = sandbox.admit(bytes(wasmtime.wat2wasm(wat)))
        guests.append(sandbox.open_guest(block, limits or GuestLimits()))
        return guests[-1]

    yield open_guest
    for guest in guests:
        guest.close()


@pytest.fixture(scope="session")
def guest_text() -> Callable[[str], str]:
    """The WAT of a guest in tests/guests, by its name."""
    return lambda name: (GUESTS / f"{name}.wat").read_text()


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    server = ForkServer([compile_program.__name__])
    yield server
    server.close()
