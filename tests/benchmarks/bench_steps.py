"""What one step of a guest and one job cost, in thread and in process mode, compared in one run.

Run: python tests/benchmarks/bench_steps.py [--quick] [--json]
"""

import logging
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import structlog
import wasmtime
from pydantic_core import from_json

from bounds import scaled
from codec_calls import codec_calls
from cuttlebone.assembly import open_host_with
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.job.job import JobKey, Submission
from cuttlebone.sandbox import Block, GuestLimits, Sandbox
from cuttlebone.sandbox.engine import new_engine
from cuttlebone.service.host import Host
from cuttlebone.settings import Isolation, Settings
from cuttlebone_abi import Json, dump_json, load_json
from report import Row, at_most, run_benchmark, times_faster

GUESTS = Path(__file__).parent.parent / "guests"
EVENT = b'{"event":"emitted"}'
TEXTS = {
    "prose": dump_json({"text": "The mill at Sandwick ran day and night. " * 1_500}),
    "numbers": dump_json([number / 7 for number in range(3_000)]),
    "records": dump_json([{"id": n, "name": f"n{n}", "ok": True} for n in range(1_500)]),
    "command": b'{"cmd":"emit","progress":{"window":1,"offset":0,"len":1021}}',
}
"""What the parser finds easy and hard."""
JOB_S_MAX = scaled(30.0)


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """Measure everything in turn, round by round, and take medians: the machine may be busy."""
    rounds, steps, jobs = (3, 1_000, 20) if quick else (15, 5_000, 50)
    wasm = bytes(wasmtime.wat2wasm((GUESTS / "emit.wat").read_text()))
    with ExitStack() as stack:
        thread = stack.enter_context(Sandbox(isolation=Isolation.THREAD))
        process = stack.enter_context(Sandbox(isolation=Isolation.PROCESS))
        # The same bytes are the same block in both; admitting compiles them in each.
        block = thread.admit(wasm)
        process.admit(wasm)
        private_mib = private_bytes(process, block) / (1 << 20)
        hosts = {
            (mode, count): stack.enter_context(host(sandbox, count))
            for mode, sandbox in (("thread", thread), ("process", process))
            for count in (2, 8)
        }
        figures = medians(
            rounds,
            step_thread_us=lambda: 1e6 * step_s(thread, block, steps),
            step_public_us=lambda: 1e6 * public_step_s(wasm, steps // 10),
            step_process_us=lambda: 1e6 * step_s(process, block, steps // 2),
            instance_thread_ms=lambda: 1e3 * instance_s(thread, block, jobs),
            instance_process_ms=lambda: 1e3 * instance_s(process, block, jobs),
            job_thread_ms=lambda: 1e3 * job_s(hosts["thread", 2], jobs),
            job_process_ms=lambda: 1e3 * job_s(hosts["process", 2], jobs),
            jobs_per_s_thread_2=lambda: jobs_per_s(hosts["thread", 2], jobs),
            jobs_per_s_thread_8=lambda: jobs_per_s(hosts["thread", 8], jobs),
            jobs_per_s_process_2=lambda: jobs_per_s(hosts["process", 2], jobs),
            jobs_per_s_process_8=lambda: jobs_per_s(hosts["process", 8], jobs),
        )
    return (*rows(figures, private_mib), *codec_rows(rounds))


def rows(figures: dict[str, float], private_mib: float) -> Sequence[Row]:
    """All figures, with their goals."""
    bare = Row("step_public_us", figures["step_public_us"], "µs")
    return (
        Row("step_thread_us", figures["step_thread_us"], "µs"),
        bare,
        times_faster("step_thread_speedup", figures["step_thread_us"], bare, 10),
        at_most("step_process_us", figures["step_process_us"], "µs", 60),
        Row("instance_thread_ms", figures["instance_thread_ms"], "ms"),
        Row("instance_process_ms", figures["instance_process_ms"], "ms"),
        Row("job_thread_ms", figures["job_thread_ms"], "ms"),
        at_most("job_process_ms", figures["job_process_ms"], "ms", 10),
        *(Row(name, figures[name], "jobs/s") for name in figures if name.startswith("jobs_per_s")),
        at_most("guest_private_mib", private_mib, "MiB", 16),
    )


def codec_rows(rounds: int) -> Sequence[Row]:
    """How often a host reads and writes the input of one job, and what its checks add to a parse."""
    marker = "a-word-of-this-input-alone"
    with (
        Sandbox(isolation=Isolation.THREAD) as sandbox,
        tempfile.TemporaryDirectory() as state,
        codec_calls(marker, here=True) as calls,
        host(sandbox, 2, state=Path(state)) as opened,
    ):
        wait(opened, submit(opened, {"text": marker}))
    ratios = medians(rounds, **{name: partial(guard_ratio, text) for name, text in TEXTS.items()})
    return (
        at_most("input_reads_per_job", calls.marked_reads, "parses", 2),
        at_most("input_writes_per_job", calls.marked_writes, "dumps", 2),
        *(
            at_most(f"load_json_of_{name}", ratio, "times the parse", 2.5)
            for name, ratio in ratios.items()
        ),
    )


def guard_ratio(text: bytes) -> float:
    """How many times the bare parse `load_json` takes, which bounds depth and numbers."""
    return seconds_of(lambda: load_json(text)) / seconds_of(
        lambda: from_json(text, allow_inf_nan=False)
    )


def seconds_of(call: Callable[[], object]) -> float:
    """The shortest of some calls: what is longer was interrupted."""
    spent = []
    for _ in range(30):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return min(spent)


def medians(rounds: int, **measured: Callable[[], float]) -> dict[str, float]:
    """The median of each over all rounds; a round measures each once."""
    values: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, once in measured.items():
            values[name].append(once())
    return {name: statistics.median(each) for name, each in values.items()}


def step_s(sandbox: Sandbox, block: Block, steps: int) -> float:
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


@contextmanager
def host(sandbox: Sandbox, job_threads: int, *, state: Path | None = None) -> Iterator[Host]:
    """A host without models that serves one spec, whose block is done after three steps."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        module = bytes(wasmtime.wat2wasm((GUESTS / "three_steps.wat").read_text()))
        (folder / "three_steps.wasm").write_bytes(module)
        (folder / "three_steps.yaml").write_text(
            "name: three_steps\ndescription: Emits twice and is done.\nblock: three_steps.wasm\n"
        )
        settings = Settings(specs=folder, jobs_running_max=job_threads, state=state)
        with open_host_with(settings, sandbox, EndpointDirectory({})) as opened:
            yield opened


def job_s(opened: Host, jobs: int) -> float:
    """Seconds from submitting a job to its envelope, one after another."""
    began = time.perf_counter()
    for _ in range(jobs):
        wait(opened, submit(opened))
    return (time.perf_counter() - began) / jobs


def jobs_per_s(opened: Host, jobs: int) -> float:
    """Jobs a second when all are submitted at once."""
    began = time.perf_counter()
    for job in [submit(opened) for _ in range(2 * jobs)]:
        wait(opened, job)
    return 2 * jobs / (time.perf_counter() - began)


def submit(opened: Host, value: Json = None) -> JobKey:
    """Submit one job."""
    return opened.jobs.submit(Submission(spec="three_steps", input=value)).key


def wait(opened: Host, job: JobKey) -> None:
    """Wait for the end of a job, woken by its event log."""
    changed = threading.Event()
    with opened.jobs.watch(job, changed.set):
        while not (found := opened.jobs.get(job)).status.final:
            assert changed.wait(JOB_S_MAX)
            changed.clear()
    assert found.status == "completed", found


def private_bytes(sandbox: Sandbox, block: Block) -> int:
    """Memory of a guest process that it shares with nobody: the most that any of them has."""
    guest = sandbox.open_guest(block, GuestLimits())
    guest.init(b"{}")
    found = max(private_bytes_of(process) for process in guest_processes())
    guest.close()
    return found


def private_bytes_of(process: int) -> int:
    """Private pages of one process, which only root may see of one that is not dumpable."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        return 0
    return sum(
        int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Private_")
    )


def guest_processes() -> set[int]:
    """Children of our children."""
    return {child for zygote in children(os.getpid()) for child in children(zygote)}


def children(process: int) -> set[int]:
    """Numbers of the processes that a process has started."""
    text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return {int(word) for word in text.split()}


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    run_benchmark("Steps and jobs", measure)
