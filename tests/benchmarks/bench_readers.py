"""What many readers of events cost: the rate of a guest that is followed, the host beside large events.

Run: python tests/benchmarks/bench_readers.py [--quick] [--json]

The host is a process of its own with a real sandbox and a state folder; the readers share another one. All
are on this machine, so that what the readers take themselves is counted against the host too.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import httpx
import wasmtime

from readers import Followed, following
from report import Row, at_most, run_benchmark

READERS: Final = 300
READERS_OF_LARGE: Final = 40
LARGE_EVENTS: Final = 8
SHARE_LEFT_MIN: Final = 0.9
SMALL: Final = Path(__file__).parents[1] / "guests" / "emit.wat"

_SPEC: Final = """
name: {name}
description: measured
block: {name}.wasm
limits: {{time_ms: 600000, steps: 10000000, events: 1000000, event_bytes: 268435456, command_bytes: 8388608}}
"""
# Emits so many strings of 1 MiB, which it makes once, and ends.
_LARGE: Final = """
(module
  (memory (export "memory") 20)
  (global $left (mut i32) (i32.const {events}))
  (data (i32.const 16) "\\20\\00\\01\\00\\1c\\00\\10\\00")
  (data (i32.const 0x10020) "{{\\"cmd\\":\\"emit\\",\\"progress\\":\\"")
  (data (i32.const 0x11003a) "\\"}}")
  (data (i32.const 24) "\\80\\00\\00\\00\\19\\00\\00\\00")
  (data (i32.const 128) "{{\\"cmd\\":\\"done\\",\\"result\\":1}}")
  (func $step (result i32)
    (if (i32.eqz (global.get $left)) (then (return (i32.const 24))))
    (global.set $left (i32.sub (global.get $left) (i32.const 1)))
    (memory.fill (i32.const 0x1003a) (i32.const 120) (i32.const 0x100000))
    (i32.const 16))
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (call $step))
  (func (export "cf_step") (param i32 i32) (result i32) (call $step)))
"""


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # given by run_benchmark
    """Measure everything once."""
    window_s, rounds = (2.0, 2) if quick else (5.0, 5)
    with _host() as url, httpx.Client(base_url=url, timeout=60) as http:
        return [*_small(http, url, window_s, rounds), *_large(http, url, rounds)]


def _small(http: httpx.Client, url: str, window_s: float, rounds: int) -> Iterator[Row]:
    """Events a second of a guest that does nothing but emit, alone and followed, in turns."""
    job = _submitted(http, "small")
    alone, followed, quiet, told = [], [], [], []
    for _ in range(rounds):
        with following(url, job, 0) as nobody:
            alone.append(_events_per_s(http, window_s))
        quiet.append(nobody.told())
        with following(url, job, READERS) as readers:
            followed.append(_events_per_s(http, window_s))
        told.append(readers.told())
    http.post(f"/v1/jobs/{job}/cancel")
    share = median(followed) / median(alone)
    yield Row("emit_alone", median(alone), "events/s")
    yield Row("emit_300_readers", median(followed), "events/s")
    yield Row(
        "emit_share_300_readers",
        share,
        "times",
        "emit_alone",
        share,
        f"≥ {SHARE_LEFT_MIN:g}",
        share >= SHARE_LEFT_MIN,
    )
    yield Row("healthz_p99_ms_no_readers", _p99(quiet), "ms")
    yield at_most("healthz_p99_ms_300_readers", _p99(told), "ms", 50)
    yield Row("mib_per_s_300_readers", median(one.mib_per_s for one in told), "MiB/s")


def _large(http: httpx.Client, url: str, rounds: int) -> Iterator[Row]:
    """What `/healthz` takes while readers are sent events of 1 MiB, whole."""
    told = []
    for _ in range(rounds):
        job = _submitted(http, "large")
        with following(url, job, READERS_OF_LARGE, to_the_end=True) as readers:
            told.append(readers.told())
    yield at_most("healthz_p99_ms_40_readers_8_mib", _p99(told), "ms", 50)
    yield Row("mib_per_s_40_readers_8_mib", median(one.mib_per_s for one in told), "MiB/s")


def _p99(told: Sequence[Followed]) -> float:
    return median(one.healthz_p99_ms for one in told)


def _submitted(http: httpx.Client, spec: str) -> str:
    answer = http.post("/v1/jobs", json={"spec": spec, "input": None})
    job: str = answer.raise_for_status().json()["id"]
    return job


def _events_per_s(http: httpx.Client, window_s: float) -> float:
    """How many events the store is given, while nothing else is written."""
    before, began_s = _changes(http), time.perf_counter()
    time.sleep(window_s)
    return (_changes(http) - before) / (time.perf_counter() - began_s)


def _changes(http: httpx.Client) -> float:
    name = "cuttlebone_store_commit_changes_sum "
    lines = http.get("/metrics").text.splitlines()
    return next(float(line.removeprefix(name)) for line in lines if line.startswith(name))


@contextmanager
def _host() -> Iterator[str]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        specs = folder / "specs"
        specs.mkdir()
        for spec, wat in (
            ("small", SMALL.read_text()),
            ("large", _LARGE.format(events=LARGE_EVENTS)),
        ):
            (specs / f"{spec}.wasm").write_bytes(wasmtime.wat2wasm(wat))
            (specs / f"{spec}.yaml").write_text(_SPEC.format(name=spec))
        process = subprocess.Popen(
            [sys.executable, "-m", "cuttlebone", "serve", "--json", "--port", "0",
             "--specs", specs, "--state", folder / "state", "--cache", folder / "cache"],
            env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    run_benchmark("readers of events", measure)
