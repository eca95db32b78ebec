"""A guest that gives up: its functions, the step and the last command are in the message."""

from collections.abc import Iterator
from struct import pack

import pytest
import wasmtime

from cuttlebone.execution.runner import run_job
from cuttlebone.sandbox import GuestLimits, Sandbox
from cuttlebone.settings import Isolation
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone_abi import ErrorCode, Failed, Failure, Json, Signature, dump_json
from job_scopes import ScopeOf

BLOCK = """(module (memory (export "memory") 1)
  (data (i32.const 8) "\\10\\00\\00\\00\\1b\\00\\00\\00")
  (data (i32.const 16) "{{\\22cmd\\22:\\22emit\\22,\\22progress\\22:1}}")
  (func $parse_line (unreachable))
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func $begin (export "cf_init") (param i32 i32) (result i32) {init} (i32.const 8))
  (func $advance (export "cf_step") (param i32 i32) (result i32) {step} (i32.const 8)))"""


@pytest.fixture(scope="module", params=[Isolation.THREAD, Isolation.PROCESS])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(isolation=request.param) as opened:
        yield opened


PANIC = """(module (memory (export "memory") 2)
  (data (i32.const 8) "{descriptor}")
  (data (i32.const 16) "{words}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (unreachable))
  (func (export "cf_step") (param i32 i32) (result i32) (unreachable))
  (func (export "cf_panic") (result i32) (i32.const 8)))"""


def panicking(words: bytes) -> str:
    """A block that traps at once and then says `words`."""
    return PANIC.format(descriptor=_escaped(pack("<II", 16, len(words))), words=_escaped(words))


def _escaped(data: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in data)


def failure(sandbox: Sandbox, scope_of: ScopeOf, source: str, value: Json = None) -> Failure:
    guest = sandbox.open_guest(
        sandbox.admit(bytes(wasmtime.wat2wasm(source))), GuestLimits(memory_bytes=1 << 20)
    )
    envelope = run_job(guest, scope_of(), IoSchemas(Signature()), dump_json(value))
    guest.close()
    assert isinstance(envelope, Failed)
    return envelope.error


def message(sandbox: Sandbox, scope_of: ScopeOf, source: str, value: Json = None) -> str:
    error = failure(sandbox, scope_of, source, value)
    assert error.code == ErrorCode.WASM_TRAP
    return error.message


def test_a_trap_in_a_step_names_functions_step_and_command(
    sandbox: Sandbox, scope_of: ScopeOf
) -> None:
    said = message(sandbox, scope_of, BLOCK.format(init="", step="(call $parse_line)"))

    assert "trapped in cf_step at parse_line < advance" in said
    assert "(step 2, with the answer to `emit`)" in said


def test_a_trap_at_the_start_names_the_input(sandbox: Sandbox, scope_of: ScopeOf) -> None:
    said = message(sandbox, scope_of, BLOCK.format(init="(call $parse_line)", step=""))

    assert "trapped in cf_init at parse_line < begin" in said
    assert "(step 1, with the input of the job)" in said


def test_a_trapped_block_may_say_how_it_failed(sandbox: Sandbox, scope_of: ScopeOf) -> None:
    words = b'{"cmd":"fail","code":"panic","message":"the sum is off"}'

    assert failure(sandbox, scope_of, panicking(words)) == Failure(
        code="panic", message="the sum is off"
    )


@pytest.mark.parametrize(
    "words",
    [
        b'{"cmd":"done","result":1}',
        b'{"cmd":"emit","progress":1}',
        b'{"cmd":"infer","prompt":"a","max_tokens":1}',
        b'{"cmd":"fail"}',
        b'{"cmd":"fail","code":"a","message":"' + b"b" * (64 << 10) + b'"}',
        b"{",
    ],
)
def test_a_trapped_block_can_do_nothing_else(
    sandbox: Sandbox, scope_of: ScopeOf, words: bytes
) -> None:
    said = message(sandbox, scope_of, panicking(words))

    assert "trapped in cf_init" in said
    assert "(step 1, with the input of the job)" in said
