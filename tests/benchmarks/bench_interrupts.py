"""How long a guest goes on after it was told to stop, wherever it is and however it is run.

Run: python tests/benchmarks/bench_interrupts.py [--quick] [--json]
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import wasmtime

from cuttlebone.errors import Interrupted
from cuttlebone.sandbox import Block, GuestLimits, Sandbox
from cuttlebone.settings import Isolation
from report import Row, at_most, run_benchmark

MODULES = Path(__file__).parent.parent / "hostile" / "modules"
ATTACKS = (
    "loop_in_init",
    "loop_in_step",
    "alloc_loops",
    "on_token_loops",
    "loop_with_memory_traffic",
    "loop_of_host_growth",
    "fill_all_memory",
    "copy_all_memory",
    "table_fill",
)
RUNNING_S = 0.05
"""How long a guest has been looping when it is interrupted."""


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """The longest of several interrupts for each attack in each mode."""
    rounds = 3 if quick else 20
    found = []
    for isolation in (Isolation.THREAD, Isolation.PROCESS):
        with Sandbox(isolation=isolation) as sandbox:
            for name in ATTACKS:
                wasm = bytes(wasmtime.wat2wasm((MODULES / f"{name}.wat").read_text()))
                block = sandbox.admit(wasm)
                longest_s = max(interrupt_s(sandbox, block) for _ in range(rounds))
                found.append(at_most(f"{isolation}_{name}_ms", 1e3 * longest_s, "ms", 100))
    return found


def interrupt_s(sandbox: Sandbox, block: Block) -> float:
    """Seconds from the interrupt to the guest being closed."""
    guest = sandbox.open_guest(block, GuestLimits())
    interrupted: list[float] = []

    def interrupt() -> None:
        interrupted.append(time.perf_counter())
        guest.interrupt()

    alarm = threading.Timer(RUNNING_S, interrupt)
    alarm.start()
    try:
        guest.init(b"{}")
        guest.on_token(b"x") if guest.wants_tokens else guest.step(b"{}")
    except Interrupted:
        guest.close()
    ended = time.perf_counter()
    alarm.join()
    return ended - interrupted[0]


if __name__ == "__main__":
    run_benchmark("From interrupt to end", measure)
