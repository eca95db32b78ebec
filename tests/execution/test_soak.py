"""Many jobs of every kind in one host: memory, descriptors and threads stay as they are.

`pytest tests/execution/test_soak.py --trials 10000 --timeout 0` runs ten thousand.
"""

import gc
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.job.job import Job, Submission
from cuttlebone.service.host import Host
from cuttlebone.testing import Commands, Script, ScriptedGuest, ScriptedModel
from cuttlebone_abi import Json
from hosts import ended, scripted_host, serving

JOBS_SHORT: Final = 600
WAVE: Final = 40
GROWTH_BYTES_MAX: Final = 10 << 20
DESCRIPTORS_MORE_MAX: Final = 6
"""Two more readers of the store, should more threads have read at once than before."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What this process holds."""

    memory_bytes: int
    descriptors: int
    threads: int

    @staticmethod
    def now() -> "Resources":
        """Look, once garbage is gone."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return Resources(
            pages * os.sysconf("SC_PAGESIZE"),
            len(list(Path("/proc/self/fd").iterdir())),
            threading.active_count(),
        )


def read_and_ask(_guest: ScriptedGuest, value: Json) -> Commands:
    opened = yield {"cmd": "open", "path": "a.txt"}
    read = yield {"cmd": "slice", "handle": 1, "offset": 0, "len": opened["len"]}
    yield {"cmd": "emit", "progress": len(read["text"])}
    said = yield {"cmd": "infer", "prompt": f"count {value}", "max_tokens": 20}
    yield {"cmd": "done", "result": said["text"]}


def chatter(_guest: ScriptedGuest, value: Json) -> Commands:
    for number in range(20):
        yield {"cmd": "emit", "progress": {"number": number, "value": value}}
    yield {"cmd": "done", "result": value}


def trap(_guest: ScriptedGuest, _value: Json) -> Commands:
    yield b"no command"


def leak(_guest: ScriptedGuest, _value: Json) -> Commands:
    """End with a file open."""
    yield {"cmd": "open", "path": "a.txt"}
    yield {"cmd": "fail", "code": "tired", "message": "enough"}


def spin(guest: ScriptedGuest, _value: Json) -> Commands:
    yield {"cmd": "emit", "progress": "spinning"}
    guest.spin()


SCRIPTS: Final[dict[str, Script]] = {
    "read-and-ask": read_and_ask,
    "chatter": chatter,
    "trap": trap,
    "leak": leak,
    "spin": spin,
}
MORE: Final = "model: small\ncapabilities: {read: [a.txt]}"


def run(host: Host, model: ScriptedModel, jobs: int) -> None:
    """Run jobs of each kind in waves; those that spin are cancelled."""
    kinds = list(SCRIPTS)
    for start in range(0, jobs, WAVE):
        wave = [
            host.jobs.submit(Submission(kinds[number % len(kinds)], number))
            for number in range(start, min(start + WAVE, jobs))
        ]
        for job in wave:
            see_to_its_end(host, job)
        model.batches.clear()  # what the fake remembers for tests that look


def see_to_its_end(host: Host, job: Job) -> None:
    if job.spec == "spin":
        host.jobs.cancel(job.key)
    done = ended(host, job)
    assert done.envelope is not None
    assert host.jobs.events(job.key, after=0)[-1].kind == "result"


def test_many_jobs_leave_nothing_behind(tmp_path: Path, trials: Callable[[int], int]) -> None:
    (tmp_path / "a.txt").write_text("a text")
    jobs, model = trials(JOBS_SHORT), ScriptedModel({"count": "one two three"})
    endpoints = serving("small", model)
    with scripted_host(
        tmp_path, SCRIPTS, endpoints=endpoints, more=MORE, state=tmp_path / "state"
    ) as host:
        run(host, model, jobs // 2)
        half = Resources.now()
        run(host, model, jobs // 2)
        end = Resources.now()

    assert end.memory_bytes - half.memory_bytes < GROWTH_BYTES_MAX
    assert end.descriptors <= half.descriptors + DESCRIPTORS_MORE_MAX
    assert end.threads == half.threads
