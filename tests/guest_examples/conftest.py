"""Compiled C guests, and a real sandbox to run them in."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuttlebone.sandbox import Guest, GuestLimits, Sandbox
from cuttlebone.settings import Isolation
from guest_examples.modules import BUILD, Compile, OpenGuest


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a source as the examples are compiled, with all warnings as errors."""
    folder = tmp_path_factory.mktemp("modules")

    def compile_source(source: Path) -> bytes:
        command = [sys.executable, str(BUILD), "--into", str(folder), str(source)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        return (folder / source.name).with_suffix(".wasm").read_bytes()

    return compile_source


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
