"""What every guest does, whichever way it is run."""

import threading
from collections.abc import Callable

import pytest

from cuttlebone.errors import Interrupted, JobError
from cuttlebone.sandbox import GuestLimits
from cuttlebone_abi import ErrorCode
from sandbox.wat import COMMAND, Opener, block, described

LOOP = "(loop $again (br $again)) (unreachable)"


def failure(opener: Opener, wat: str, limits: GuestLimits | None = None) -> JobError:
    with pytest.raises(JobError) as caught:
        opener(wat, limits).init(b"{}")
    return caught.value


def test_init_and_step_hand_payloads_over_and_bring_commands_back(
    opener: Opener, guest_text: Callable[[str], str]
) -> None:
    guest = opener(guest_text("echo"))
    assert guest.init(b'{"a":1}') == b'{"a":1}'
    assert guest.step("äöü".encode()) == "äöü".encode()


def test_on_token_returns_the_verdict(opener: Opener, guest_text: Callable[[str], str]) -> None:
    guest = opener(guest_text("echo"))
    assert guest.wants_tokens
    guest.init(b"{}")
    assert guest.on_token(b"abc") == 3


def test_a_block_without_cf_on_token_wants_no_tokens(opener: Opener) -> None:
    assert not opener(block()).wants_tokens


def test_initialize_runs_before_anything_else(
    opener: Opener, guest_text: Callable[[str], str]
) -> None:
    assert opener(guest_text("declared")).init(b"1") == b'{"cmd":"done","result":[1]}'


def test_a_payload_of_a_mebibyte_passes_both_ways(
    opener: Opener, guest_text: Callable[[str], str]
) -> None:
    payload = bytes(range(256)) * 4096
    guest = opener(guest_text("echo"))
    assert guest.init(payload) == payload
    assert guest.accounting.memory_bytes_peak > 1 << 20


def test_a_buffer_is_used_again_until_a_larger_one_is_needed(opener: Opener) -> None:
    counted = "(global.set $n (i32.add (global.get $n) (i32.const 1))) (i32.const 4096)"
    tell = "(i32.store8 (i32.const 32) (i32.add (i32.const 48) (global.get $n))) (i32.const 16)"
    guest = opener(
        block(alloc=counted, init=tell, step=tell, extra="(global $n (mut i32) (i32.const 0))")
    )
    allocations = [guest.init(b"x")[:1], guest.step(b"x" * 1024)[:1], guest.step(b"x" * 1025)[:1]]
    assert allocations == [b"1", b"1", b"2"]


@pytest.mark.parametrize(
    ("body", "saying"),
    [
        ("(unreachable)", "unreachable"),
        ("(i32.load (i32.const -4))", "outside its bounds"),
        ("(i32.div_s (i32.const 1) (i32.const 0))", "divided an integer by zero"),
        ("(i32.div_s (i32.const 0x80000000) (i32.const -1))", "overflowed"),
        ("(i32.trunc_f32_s (f32.const nan))", "NaN"),
        ("(call_indirect (type $t) (i32.const 0))", "null function pointer"),
        ("(call_indirect (type $t) (i32.const 9))", "past the end of a table"),
        ("(call_indirect (type $t) (i32.const 1))", "another type"),
    ],
)
def test_every_trap_is_named(opener: Opener, body: str, saying: str) -> None:
    extra = "(type $t (func (result i32))) (table 2 funcref) (elem (i32.const 1) $v) (func $v)"
    error = failure(opener, block(init=body, extra=extra))
    assert error.code is ErrorCode.WASM_TRAP
    assert saying in error.message
    assert "cf_init" in error.message


def test_a_trap_names_the_function_that_trapped(opener: Opener) -> None:
    extra = "(func $parse_header (result i32) (unreachable))"
    error = failure(opener, block(init="(call $parse_header)", extra=extra))
    assert "parse_header" in error.message


@pytest.mark.parametrize(
    ("init", "saying"),
    [
        ("(i32.const -1)", "the descriptor that cf_init returned lies outside"),
        ("(i32.const 65529)", "the descriptor that cf_init returned lies outside"),
        (described(0, 65537), "the payload that cf_init returned lies outside"),
        (described(65535, 2), "the payload that cf_init returned lies outside"),
        (described(-8, 16), "the payload that cf_init returned lies outside"),
        (described(1, -1), "the payload that cf_init returned lies outside"),
        (described(32, 0), "empty command"),
        ("(i32.const 0)", "null pointer"),
    ],
)
def test_a_descriptor_is_checked_before_anything_is_copied(
    opener: Opener, init: str, saying: str
) -> None:
    error = failure(opener, block(init=init))
    assert error.code is ErrorCode.WASM_TRAP
    assert saying in error.message


def test_the_last_bytes_of_memory_are_still_inside(opener: Opener) -> None:
    assert opener(block(init=described(65535, 1))).init(b"") == b"\0"


@pytest.mark.parametrize(
    ("alloc", "saying"),
    [
        ("(i32.const 0)", "out of memory"),
        ("(i32.const -1)", "the buffer that cf_alloc returned lies outside"),
        ("(i32.const 65000)", "the buffer that cf_alloc returned lies outside"),
        ("(unreachable)", "cf_alloc"),
    ],
)
def test_an_allocator_that_lies_is_refused(opener: Opener, alloc: str, saying: str) -> None:
    error = failure(opener, block(alloc=alloc))
    assert error.code is ErrorCode.WASM_TRAP
    assert saying in error.message


def test_a_command_over_its_limit_names_the_limit(opener: Opener) -> None:
    error = failure(opener, block(init=described(0, 101)), GuestLimits(command_bytes=100))
    assert error.code is ErrorCode.LIMIT_EXCEEDED
    assert "command_bytes: cf_init returned 101 bytes, but at most 100" in error.message


def test_a_command_at_its_limit_passes(opener: Opener) -> None:
    guest = opener(block(init=described(0, 100)), GuestLimits(command_bytes=100))
    assert len(guest.init(b"")) == 100


def test_a_guest_that_gives_up_at_the_brim_of_its_memory_exceeds_the_limit(opener: Opener) -> None:
    grow = "(if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable)) "
    error = failure(
        opener,
        block(init=f"(loop $l {grow} (br $l)) unreachable"),
        GuestLimits(memory_bytes=1 << 20),
    )
    assert error.code is ErrorCode.LIMIT_EXCEEDED
    assert error.message.startswith("memory_bytes: ")
    assert "1048576" in error.message


def test_a_block_that_needs_more_memory_than_the_limit_is_not_opened(opener: Opener) -> None:
    wat = block(memory='(memory (export "memory") 17)')
    error = failure(opener, wat, GuestLimits(memory_bytes=1 << 20))
    assert error.code is ErrorCode.LIMIT_EXCEEDED
    assert error.message.startswith("memory_bytes: ")
    assert "1048576" in error.message


def test_fuel_is_a_limit_of_the_whole_job(opener: Opener) -> None:
    error = failure(opener, block(init=LOOP), GuestLimits(fuel=10_000))
    assert error.code is ErrorCode.LIMIT_EXCEEDED
    assert "fuel: 10000 operations" in error.message


def test_fuel_is_accounted_for(opener: Opener) -> None:
    guest = opener(block(), GuestLimits(fuel=10_000))
    guest.init(b"{}")
    assert guest.accounting.fuel is not None
    assert 0 < guest.accounting.fuel < 100


def test_recursion_without_end_exceeds_the_stack(opener: Opener) -> None:
    error = failure(opener, block(init="(call $r)", extra="(func $r (result i32) (call $r))"))
    assert error.code is ErrorCode.LIMIT_EXCEEDED
    assert "stack_bytes: 524288" in error.message


def test_an_interrupt_before_the_call_stops_it(opener: Opener) -> None:
    guest = opener(block(init=LOOP))
    guest.interrupt()
    with pytest.raises(Interrupted):
        guest.init(b"{}")


@pytest.mark.parametrize("place", ["init", "alloc"])
def test_an_interrupt_stops_a_running_loop(opener: Opener, place: str) -> None:
    guest = opener(block(init=LOOP) if place == "init" else block(alloc=LOOP))
    alarm = threading.Timer(0.05, guest.interrupt)
    alarm.start()
    with pytest.raises(Interrupted):
        guest.init(b"{}")
    alarm.join()


def test_a_loop_in_step_or_on_token_is_interrupted(opener: Opener) -> None:
    looping = f'(func (export "cf_on_token") (param i32 i32) (result i32) {LOOP})'
    for call in ("step", "on_token"):
        guest = opener(block(step=LOOP, extra=looping))
        guest.init(b"{}")
        alarm = threading.Timer(0.05, guest.interrupt)
        alarm.start()
        with pytest.raises(Interrupted):
            getattr(guest, call)(b"{}")
        alarm.join()


def test_after_an_interrupt_the_guest_is_dead(opener: Opener) -> None:
    guest = opener(block())
    guest.init(b"{}")
    guest.interrupt()
    for _ in range(2):
        with pytest.raises(Interrupted):
            guest.step(b"{}")


def test_after_a_trap_the_guest_is_dead_and_says_the_same_again(opener: Opener) -> None:
    guest = opener(block(step="(unreachable)"))
    guest.init(b"{}")
    with pytest.raises(JobError) as first:
        guest.step(b"{}")
    with pytest.raises(JobError) as second:
        guest.step(b"{}")
    assert second.value.message == first.value.message


def test_interrupt_and_close_are_harmless_at_any_time(opener: Opener) -> None:
    guest = opener(block())
    assert guest.init(b"{}") == COMMAND.encode()
    guest.close()
    guest.interrupt()
    guest.close()
    with pytest.raises(Interrupted):
        guest.step(b"{}")


def test_a_guest_that_was_never_started_can_be_closed(opener: Opener) -> None:
    guest = opener(block())
    guest.close()
    with pytest.raises(Interrupted):
        guest.init(b"{}")


def test_accounting_outlives_the_guest(opener: Opener) -> None:
    guest = opener(block())
    guest.init(b"{}")
    guest.step(b"{}")
    guest.close()
    used = guest.accounting
    assert used.steps == 2
    assert used.memory_bytes_peak == 65536
    assert used.guest_ms > 0
    assert used.fuel is None


def test_nothing_survives_from_one_run_to_the_next(opener: Opener) -> None:
    counting = "(i32.store8 (i32.const 32) (i32.add (i32.load8_u (i32.const 32)) (i32.const 1)))"
    wat = block(init=f"{counting} (i32.const 16)")
    assert opener(wat).init(b"{}") == opener(wat).init(b"{}")
