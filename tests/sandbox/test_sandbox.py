"""What only a sandbox with guest processes does: they die alone, are restarted, leave nothing behind."""

import gc
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import wasmtime

from bounds import scaled
from cuttlebone.errors import Interrupted, JobError, OperatorError
from cuttlebone.locked_process.zygote import SPARES_MAX
from cuttlebone.sandbox import Block, Guest, GuestLimits, Layer, Sandbox
from cuttlebone.sandbox.deferred_guest import DeferredGuest
from cuttlebone.sandbox.guest_process import GuestProcess
from cuttlebone.sandbox.sandbox import demand_layers
from cuttlebone.settings import Isolation
from cuttlebone_abi import ErrorCode
from sandbox.wat import block
from zygotes import children_of, number_of, zygote_of

LOOP = "(loop $again (br $again)) (unreachable)"
PRIVATE_BYTES_MAX = 16 << 20


@pytest.fixture(scope="module")
def isolated() -> Iterator[Sandbox]:
    with Sandbox(isolation=Isolation.PROCESS) as sandbox:
        yield sandbox


@pytest.fixture
def fresh() -> Iterator[Sandbox]:
    """A sandbox whose zygote is the newest child of this process."""
    with Sandbox(isolation=Isolation.PROCESS) as sandbox:
        yield sandbox


def admitted(sandbox: Sandbox, wat: str) -> Block:
    return sandbox.admit(bytes(wasmtime.wat2wasm(wat)))


def run_once(sandbox: Sandbox, wat: str, limits: GuestLimits | None = None) -> bytes:
    guest = sandbox.open_guest(admitted(sandbox, wat), limits or GuestLimits())
    try:
        return guest.init(b"{}")
    finally:
        guest.close()


def process_of(guest: Guest) -> int:
    """Number of the process of a guest that was initialised."""
    assert isinstance(guest, DeferredGuest)
    assert isinstance(guest._guest, GuestProcess)
    return number_of(guest._guest._child)


def test_all_layers_hold_here(isolated: Sandbox) -> None:
    assert isolated.layers == dict.fromkeys(Layer)


def test_thread_mode_says_that_no_layer_holds() -> None:
    with Sandbox(isolation=Isolation.THREAD) as sandbox:
        assert set(sandbox.layers.values()) == {"guests run in threads"}


def test_require_starts_where_every_layer_holds() -> None:
    with Sandbox(isolation=Isolation.REQUIRE) as sandbox:
        assert run_once(sandbox, block())


def test_require_refuses_where_a_layer_is_missing_and_process_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    layers = {**dict.fromkeys(Layer), Layer.LANDLOCK: "the kernel has no Landlock"}
    with pytest.raises(OperatorError, match="lacks landlock: the kernel has no Landlock"):
        demand_layers(layers, Isolation.REQUIRE)
    demand_layers(layers, Isolation.PROCESS)
    assert "the kernel has no Landlock" in capsys.readouterr().out


ORPHANS = """
import sys, threading, wasmtime
from cuttlebone.sandbox import GuestLimits, Sandbox
sandbox = Sandbox()
guest = sandbox.open_guest(sandbox.admit(wasmtime.wat2wasm(sys.argv[1])), GuestLimits())
threading.Timer(0.3, lambda: print("looping", flush=True)).start()
guest.init(b"{}")
"""


def test_zygote_and_guests_end_with_a_host_that_is_killed() -> None:
    command = [sys.executable, "-c", ORPHANS, block(init=LOOP)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"looping\n"
        zygote = zygote_of(host.pid)
        handles = [os.pidfd_open(process) for process in (zygote, *children_of(zygote))]
        host.kill()
    # A pidfd can be read once its process has ended; the test's time limit bounds the wait.
    assert len(handles) >= 2
    for handle in handles:
        select.select([handle], [], [])
        os.close(handle)


def test_processor_time_ends_in_a_timeout(isolated: Sandbox) -> None:
    with pytest.raises(JobError) as caught:
        run_once(isolated, block(init=LOOP), GuestLimits(cpu_s=1))
    assert caught.value.code is ErrorCode.TIMEOUT
    assert "cpu_s of 1" in caught.value.message


def test_a_guest_process_that_is_killed_from_outside_fails_its_job_alone(isolated: Sandbox) -> None:
    victim = isolated.open_guest(admitted(isolated, block()), GuestLimits())
    neighbour = isolated.open_guest(admitted(isolated, block()), GuestLimits())
    for guest in (victim, neighbour):
        guest.init(b"{}")
    os.kill(process_of(victim), signal.SIGABRT)

    def step_on() -> None:
        # The first call may still be answered: the signal is on its way.
        for _ in range(1000):
            victim.step(b"{}")

    with pytest.raises(JobError) as caught:
        step_on()
    assert caught.value.code is ErrorCode.INTERNAL
    assert "SIGABRT" in caught.value.message
    assert neighbour.step(b"{}")
    for guest in (victim, neighbour):
        guest.close()


def test_a_guest_that_computes_for_long_gives_way(isolated: Sandbox) -> None:
    looping = (
        '(func (export "cf_on_token") (param i32 i32) (result i32) (loop $l (br $l)) unreachable)'
    )
    guest = isolated.open_guest(admitted(isolated, block(extra=looping)), GuestLimits())
    guest.init(b"{}")
    process = process_of(guest)
    before = os.getpriority(os.PRIO_PROCESS, process)

    def loop() -> None:
        with suppress(Interrupted):
            guest.on_token(b"x")

    thread = threading.Thread(target=loop)
    thread.start()
    # The test's own time limit bounds this; a pause leaves the processor to the guest.
    pause = threading.Event()
    while os.getpriority(os.PRIO_PROCESS, process) == before:
        pause.wait(0.01)
    assert os.getpriority(os.PRIO_PROCESS, process) == 19
    guest.interrupt()
    thread.join(scaled(10))
    guest.close()


def test_a_zygote_that_died_is_replaced(fresh: Sandbox) -> None:
    run_once(fresh, block())
    os.kill(zygote_of(), signal.SIGKILL)
    assert run_once(fresh, block())


def test_a_guest_process_has_little_memory_of_its_own(fresh: Sandbox) -> None:
    guest = fresh.open_guest(admitted(fresh, block()), GuestLimits())
    guest.init(b"{}")
    process = process_of(guest)
    # The locked-down process cannot be read by others of its user, but by root it can.
    if os.geteuid() != 0:
        pytest.skip("only root can look into a process that is not dumpable")
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    private = sum(
        int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Private_")
    )
    guest.close()
    assert private <= PRIVATE_BYTES_MAX


def test_many_jobs_leave_no_descriptor_thread_or_child_behind(fresh: Sandbox) -> None:
    wats = [block(), block(init="(unreachable)"), block(init="(i32.const -1)")]

    def job(wat: str) -> None:
        with suppress(JobError):
            run_once(fresh, wat)

    def interrupted_job() -> None:
        guest: Guest = fresh.open_guest(admitted(fresh, block(init=LOOP)), GuestLimits())
        alarm = threading.Timer(0.02, guest.interrupt)
        alarm.start()
        with pytest.raises(Interrupted):
            guest.init(b"{}")
        alarm.join()
        guest.close()

    def held() -> tuple[int, int]:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    for wat in wats:
        job(wat)
    interrupted_job()
    before = held()
    for _ in range(10):
        for wat in wats:
            job(wat)
        interrupted_job()
    assert held() == before
    run_once(fresh, block())  # the zygote has waited for all that ended before
    # The one that may still be ending, and the spare ones.
    assert len(children_of(zygote_of())) <= 1 + SPARES_MAX


def test_an_interrupt_ends_the_wait_for_a_zygote_that_does_not_answer(fresh: Sandbox) -> None:
    guest = fresh.open_guest(admitted(fresh, block()), GuestLimits())
    number = zygote_of()
    os.kill(number, signal.SIGSTOP)
    alarm = threading.Timer(0.05, guest.interrupt)
    alarm.start()
    try:
        with pytest.raises(Interrupted, match="waiting for a process"):
            guest.init(b"{}")
    finally:
        alarm.join()
        os.kill(number, signal.SIGCONT)
