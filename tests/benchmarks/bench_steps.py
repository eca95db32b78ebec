"""What one step of a guest and one job cost, with the ways of calling compared in one run.

Run: python tests/benchmarks/bench_steps.py [--quick] [--json]
"""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import wasmtime

from cuttlebone.sandbox import Block, GuestLimits, Sandbox
from cuttlebone.sandbox.engine import new_engine
from report import Row, run_benchmark, times_faster

EMIT = Path(__file__).parent.parent / "guests" / "emit.wat"
EVENT = b'{"event":"emitted"}'


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """Measure everything once, interleaved, and take medians: the machine may be busy."""
    rounds, steps, jobs = (5, 2_000, 20) if quick else (15, 10_000, 100)
    wasm = bytes(wasmtime.wat2wasm(EMIT.read_text()))
    with Sandbox() as sandbox:
        block = sandbox.admit(wasm)
        figures = medians(
            rounds,
            step_thread_us=lambda: 1e6 * thread_step_s(sandbox, block, steps),
            step_public_us=lambda: 1e6 * public_step_s(wasm, steps // 10),
            instance_thread_ms=lambda: 1e3 * instance_s(sandbox, block, jobs),
        )
    bare = Row("step_public_us", figures["step_public_us"], "µs")
    return (
        Row("step_thread_us", figures["step_thread_us"], "µs"),
        bare,
        times_faster("step_thread_speedup", figures["step_thread_us"], bare, 10),
        Row("instance_thread_ms", figures["instance_thread_ms"], "ms"),
    )


def medians(rounds: int, **measured: Callable[[], float]) -> dict[str, float]:
    """The median of each over all rounds; a round measures each once."""
    values: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, once in measured.items():
            values[name].append(once())
    return {name: statistics.median(each) for name, each in values.items()}


def thread_step_s(sandbox: Sandbox, block: Block, steps: int) -> float:
    """Seconds a step: event bytes in, command bytes out, all checks made."""
    guest = sandbox.open_guest(block, GuestLimits())
    guest.init(b"{}")
    step = guest.step
    began = time.perf_counter()
    for _ in range(steps):
        step(EVENT)
    spent = time.perf_counter() - began
    guest.close()
    return spent / steps


def public_step_s(wasm: bytes, steps: int) -> float:
    """Seconds a step of the same in wasmtime-py's documented calls, without any check."""
    engine = new_engine(metered=False)
    store = wasmtime.Store(engine)
    store.set_epoch_deadline(1)
    exports = wasmtime.Instance(store, wasmtime.Module(engine, wasm), []).exports(store)
    memory, alloc, step = exports["memory"], exports["cf_alloc"], exports["cf_step"]
    assert isinstance(memory, wasmtime.Memory)
    assert isinstance(alloc, wasmtime.Func)
    assert isinstance(step, wasmtime.Func)
    began = time.perf_counter()
    for _ in range(steps):
        buffer = alloc(store, len(EVENT))
        memory.write(store, EVENT, buffer)
        at = step(store, buffer, len(EVENT))
        described = memory.read(store, at, at + 8)
        payload = int.from_bytes(described[:4], "little")
        length = int.from_bytes(described[4:], "little")
        bytes(memory.read(store, payload, payload + length))
    spent = time.perf_counter() - began
    store.close()
    return spent / steps


def instance_s(sandbox: Sandbox, block: Block, jobs: int) -> float:
    """Seconds to open a guest of a compiled block, initialise it and close it."""
    began = time.perf_counter()
    for _ in range(jobs):
        guest = sandbox.open_guest(block, GuestLimits())
        guest.init(b"{}")
        guest.close()
    return (time.perf_counter() - began) / jobs


if __name__ == "__main__":
    run_benchmark("Steps of a guest", measure)
