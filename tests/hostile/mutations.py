"""Modules and commands that are almost right: what random changes make of good ones."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import wasmtime

from hostile.encoder import block_with

HERE: Final = Path(__file__).parent
GUESTS: Final = HERE.parent / "guests"
TELLING: Final = (0, 1, 0x7F, 0x80, 0xFF, 0x0B, 0x40)
"""Bytes that mean something almost anywhere: ends, signs, continuations."""


def good_modules() -> list[bytes]:
    """Modules to start from: the shared guests, and those attacks that are admitted."""
    paths = [
        *GUESTS.glob("*.wat"),
        *(HERE / "modules").glob("trap_*.wat"),
        *(HERE / "modules").glob("on_token_*.wat"),
        *(HERE / "modules").glob("memory_until_*.wat"),
        *(HERE / "modules").glob("recursion*.wat"),
    ]
    return [block_with(), *(bytes(wasmtime.wat2wasm(path.read_text())) for path in sorted(paths))]


def good_commands() -> list[bytes]:
    """Commands to start from, right and wrong."""
    return [path.read_bytes() for path in sorted((HERE / "commands").glob("*.json"))]


def mutated(source: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of `seeds` with one to six random changes."""
    data = bytearray(source.choice(seeds))
    for _ in range(source.randint(1, 6)):
        source.choice(_CHANGES)(source, data, seeds)
    return bytes(data)


def _flip(source: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)


def _overwrite(source: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[source.randrange(len(data))] = source.choice((*TELLING, source.randrange(256)))


def _insert(source: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = source.randint(0, len(data))
    data[at:at] = source.randbytes(source.randint(1, 4))


def _delete(source: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = source.randint(0, len(data))
    del data[at : at + source.randint(1, 8)]


def _repeat(source: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = source.randint(0, len(data))
    data[at:at] = data[at : at + source.randint(1, 32)] * source.choice((1, 2, 50))


def _splice(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = source.choice(seeds)
    start = source.randint(0, len(other))
    at = source.randint(0, len(data))
    data[at : at + source.randint(0, 16)] = other[start : start + source.randint(1, 64)]


# Flipping and overwriting keep lengths right, so that most of a module still reads; hence twice.
_CHANGES: Final[tuple[Callable[[random.Random, bytearray, Sequence[bytes]], None], ...]] = (
    *(_flip, _flip, _overwrite, _overwrite),
    *(_insert, _delete, _repeat, _splice),
)
