"""A guest that gives up: its functions, the step and the last command are in the message."""

from collections.abc import Iterator

import pytest
import wasmtime

from cuttlebone.execution.runner import run_job
from cuttlebone.sandbox import GuestLimits, Sandbox
from cuttlebone.settings import Isolation
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone_abi import ErrorCode, Failed, Json, Signature, dump_json
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


def message(sandbox: Sandbox, scope_of: ScopeOf, source: str, value: Json = None) -> str:
    guest = sandbox.open_guest(
        sandbox.admit(bytes(wasmtime.wat2wasm(source))), GuestLimits(memory_bytes=1 << 20)
    )
    envelope = run_job(guest, scope_of(), IoSchemas(Signature()), dump_json(value))
    guest.close()
    assert isinstance(envelope, Failed)
    assert envelope.error.code == ErrorCode.WASM_TRAP
    return envelope.error.message


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
