"""Compiled guests, and a real sandbox to run them in."""

from collections.abc import Callable, Iterator
from functools import cache, partial

import pytest

from cuttlebone.authoring.folder import Language
from cuttlebone.sandbox import Guest, GuestLimits, Sandbox
from cuttlebone.settings import Isolation
from guest_examples.languages import build_source, need
from guest_examples.mirrors import build_mirror
from guest_examples.modules import Compile, OpenGuest


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a C source as `cuttlebone block build` does, with all warnings as errors."""
    return partial(build_source, into=tmp_path_factory.mktemp("modules"))


@pytest.fixture(scope="session")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Language], bytes]:
    """Builds the mirror of a language, at the first time that it is asked for."""
    return cache(lambda language: build_mirror(language, tmp_path_factory.mktemp(language)))


@pytest.fixture(scope="module", params=Language, ids=str)
def language(request: pytest.FixtureRequest) -> Language:
    asked: Language = request.param
    need(asked)
    return asked


@pytest.fixture(scope="module")
def mirror_wasm(language: Language, build_once: Callable[[Language], bytes]) -> bytes:
    return build_once(language)


@pytest.fixture
def mirror(mirror_wasm: bytes, open_guest: OpenGuest) -> Guest:
    return open_guest(mirror_wasm)


@pytest.fixture(scope="module")
def long_lived_mirror(mirror_wasm: bytes, sandbox: Sandbox) -> Guest:
    """One guest for many examples: what it is told before must not matter."""
    return sandbox.open_guest(sandbox.admit(mirror_wasm), GuestLimits())


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(isolation=Isolation.THREAD) as opened:
        yield opened


@pytest.fixture
def open_guest(sandbox: Sandbox) -> Iterator[OpenGuest]:
    """Opens guests of a module and closes them after the test."""
    guests: list[Guest] = []

    def open_one(wasm: bytes, limits: GuestLimits | None = None) -> Guest:
        guests.append(sandbox.open_guest(sandbox.admit(wasm), limits or GuestLimits()))
        return guests[-1]

    yield open_one
    for guest in guests:
        guest.close()
