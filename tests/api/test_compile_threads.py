"""Compiling beside reading: what takes long to load keeps nobody from seeing jobs."""

import hashlib
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from api.hosted import BOUND_S, SCRIPTS, Api, served
from cuttlebone.api.connection_limits import ConnectionLimits
from cuttlebone.sandbox import Block, Guest, GuestLimits, Layer
from cuttlebone.testing import ScriptedSandbox
from hosts import write_spec

SHARED_THREADS: Final = 40
"""How many threads the framework has for all requests that may block."""
COMPILE_THREADS: Final = 2


class SlowCompiler:
    """A sandbox that compiles blocks beginning with a space only when the test lets it. Owner: a test."""

    def __init__(self) -> None:
        self._scripted = ScriptedSandbox(SCRIPTS)
        self.compiling = threading.Semaphore(0)
        """Released for each block that it begins to compile."""
        self.go_on = threading.Event()

    @property
    def layers(self) -> Mapping[Layer, str | None]:
        return self._scripted.layers

    @property
    def cache_damaged(self) -> int:
        return self._scripted.cache_damaged

    def admit(self, wasm: bytes) -> Block:
        if wasm.startswith(b" "):
            self.compiling.release()
            assert self.go_on.wait(BOUND_S), "the test never let it go on"
        return self._scripted.admit(wasm)

    def open_guest(self, block: Block, limits: GuestLimits) -> Guest:
        return self._scripted.open_guest(block, limits)

    def begins(self, count: int) -> None:
        for _ in range(count):
            assert self.compiling.acquire(timeout=BOUND_S)


def upload(api: Api, number: int) -> int:
    data = b" echo" + b" " * number
    return api.http.put(
        f"/v1/blocks/{hashlib.sha256(data).hexdigest()}",
        content=data,
        headers={"Content-Type": "application/wasm"},
    ).status_code


def reads(api: Api, job: str) -> list[httpx.Response]:
    """What has to be answered whatever is compiled."""
    paths = ("/healthz", "/readyz", "/v1/jobs", job, f"{job}/result", f"{job}/journal", "/metrics")
    return [api.http.get(path) for path in paths]


def add_slow_spec(folder: Path) -> None:
    """Add a spec whose block is compiled when the next request looks at the specs."""
    (folder / "slow.wasm").write_bytes(b" echo")
    write_spec(folder, "new").write_text(
        "name: new\ndescription: Is compiled slowly.\nblock: slow.wasm\n"
    )


@contextmanager
def compiling(folder: Path) -> Iterator[tuple[Api, SlowCompiler, ThreadPoolExecutor]]:
    compiler = SlowCompiler()
    with (
        served(
            folder, sandbox=compiler, limits=ConnectionLimits(compile_threads=COMPILE_THREADS)
        ) as api,
        ThreadPoolExecutor(SHARED_THREADS + 10) as clients,
    ):
        try:
            yield api, compiler, clients
        finally:
            compiler.go_on.set()


def test_jobs_are_shown_while_more_blocks_are_uploaded_than_there_are_threads(
    tmp_path: Path,
) -> None:
    with compiling(tmp_path) as (api, compiler, clients):
        job = api.ended(api.submit("echo", 1))["links"]["self"]
        uploads = [clients.submit(upload, api, number) for number in range(SHARED_THREADS + 5)]
        compiler.begins(COMPILE_THREADS)

        answers = reads(api, job)

        assert [one.status_code for one in answers] == [200] * len(answers)
        assert not compiler.compiling.acquire(blocking=False)  # the others wait for a thread
        compiler.go_on.set()
        assert {one.result(BOUND_S) for one in uploads} == {201}


def test_jobs_are_shown_while_everybody_asks_for_specs_of_which_one_is_compiled(
    tmp_path: Path,
) -> None:
    with compiling(tmp_path) as (api, compiler, clients):
        job = api.ended(api.submit("echo", 1))["links"]["self"]
        add_slow_spec(tmp_path)
        paths = ("/v1/specs", "/v1/specs/new", "/v1/blocks", f"/v1/blocks/{'0' * 64}")
        asked = [
            clients.submit(api.http.get, paths[number % len(paths)])
            for number in range(SHARED_THREADS + 5)
        ]
        compiler.begins(1)

        answers = reads(api, job)

        assert [one.status_code for one in answers] == [200] * len(answers)
        compiler.go_on.set()
        assert {one.result(BOUND_S).status_code for one in asked} == {200, 404}


def test_jobs_are_shown_while_everybody_submits_and_a_block_is_compiled_for_it(
    tmp_path: Path,
) -> None:
    with compiling(tmp_path) as (api, compiler, clients):
        job = api.ended(api.submit("echo", 1))["links"]["self"]
        add_slow_spec(tmp_path)
        submitted = [
            clients.submit(api.submit, "echo", number) for number in range(SHARED_THREADS + 5)
        ]
        compiler.begins(1)

        answers = reads(api, job)

        assert [one.status_code for one in answers] == [200] * len(answers)
        compiler.go_on.set()
        assert {one.result(BOUND_S)["spec"] for one in submitted} == {"echo"}


def test_jobs_of_specs_that_are_loaded_run_meanwhile(tmp_path: Path) -> None:
    with compiling(tmp_path) as (api, compiler, clients):
        uploading = clients.submit(upload, api, 0)
        compiler.begins(1)

        assert api.ended(api.submit("echo", 1))["envelope"]["result"] == 1
        compiler.go_on.set()
        assert uploading.result(BOUND_S) == 201
