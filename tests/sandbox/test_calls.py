"""The fast call path and its twin in wasmtime's public API give the same answers."""

from collections.abc import Iterator
from typing import TypeAlias

import pytest
import wasmtime

from cuttlebone.sandbox.calls import Calls, NativeCalls
from cuttlebone.sandbox.engine import new_engine
from sandbox.public_calls import PublicCalls

WAT = """(module
  (memory (export "memory") 1)
  (global (export "g") i32 (i32.const 0))
  (func (export "none"))
  (func (export "one") (param i32) (result i32) (i32.xor (local.get 0) (i32.const -1)))
  (func (export "sub") (param i32 i32) (result i32) (i32.sub (local.get 0) (local.get 1)))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "trap") (result i32) (unreachable)))"""

Pair: TypeAlias = tuple[NativeCalls, PublicCalls]


@pytest.fixture
def pair() -> Iterator[Pair]:
    engine = new_engine(metered=False)
    module = wasmtime.Module(engine, bytes(wasmtime.wat2wasm(WAT)))
    stores = [wasmtime.Store(engine), wasmtime.Store(engine)]
    for store in stores:
        store.set_epoch_deadline(1)
    first, second = (wasmtime.Instance(store, module, []) for store in stores)
    yield NativeCalls(stores[0], first), PublicCalls(stores[1], second)
    for store in stores:
        store.close()


def called(calls: Calls, name: str, *arguments: int) -> int:
    function = calls.function(name, len(arguments))
    assert function is not None
    return function(*arguments)


@pytest.mark.parametrize("name", ["absent", "g", "memory", "ä"])
def test_what_is_no_function_is_none(pair: Pair, name: str) -> None:
    assert [calls.function(name, 0) for calls in pair] == [None, None]


@pytest.mark.parametrize("value", [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_results_and_arguments_are_unsigned(pair: Pair, value: int) -> None:
    assert [called(calls, "one", value) for calls in pair] == [value ^ 0xFFFFFFFF] * 2
    assert [called(calls, "sub", 0, value) for calls in pair] == [-value & 0xFFFFFFFF] * 2


def test_a_function_without_result_returns_zero(pair: Pair) -> None:
    assert [called(calls, "none") for calls in pair] == [0, 0]


def test_memory_is_read_where_it_was_written_also_after_it_grew(pair: Pair) -> None:
    for calls in pair:
        assert calls.memory_bytes() == 65536
        calls.write(65530, b"abcde\0")
        calls.write(0, b"")
        assert called(calls, "grow", 1) == 1
        assert calls.memory_bytes() == 131072
        calls.write(131068, b"\1\2\3\4")
    assert [calls.read(65530, 8) for calls in pair] == [b"abcde\0\0\0"] * 2
    assert [calls.read(131072, 0) for calls in pair] == [b""] * 2
    assert [called(calls, "load", 131068) for calls in pair] == [0x04030201] * 2


@pytest.mark.parametrize(("name", "arguments"), [("trap", ()), ("load", (0xFFFFFFFE,))])
def test_traps_carry_the_same_code_and_the_instance_can_be_called_again(
    pair: Pair, name: str, arguments: tuple[int, ...]
) -> None:
    codes = []
    for calls in pair:
        with pytest.raises(wasmtime.Trap) as caught:
            called(calls, name, *arguments)
        codes.append(caught.value.trap_code)
        assert called(calls, "one", 5) == 5 ^ 0xFFFFFFFF
    assert codes[0] is codes[1]
