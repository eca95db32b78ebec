"""A host in a process of its own whose disk fills up: what its clients are told, and what they find then."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from crash.disks import Disk, fill_by_submitting, mounted
from crash.lives import Lives
from hosts import BOUND_S

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk"),
]

ROOMY_BYTES = 16 << 20
"""Room for the log of SQLite at its longest, 4 MiB, beside all else."""


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[tuple[Lives, Disk, httpx.Client, list[str]]]:
    """A host in a process of its own whose disk is full, and what it has accepted."""
    lives = Lives(tmp_path)
    with (
        mounted(lives.state, size=ROOMY_BYTES) as disk,
        closing(lives),
        httpx.Client(base_url=lives.url, timeout=BOUND_S * 2) as http,
    ):
        lives.start()
        first = http.post("/v1/jobs", json={"spec": "echo", "input": "first"}).json()["id"]
        assert http.get(f"/v1/jobs/{first}?wait={min(BOUND_S, 60)}").json()["status"] == "completed"
        running = [submitted_work(http, f"w{number}") for number in range(4)]
        disk.fill()
        yield lives, disk, http, [first, *running, *fill_by_submitting(http)]


def submitted_work(http: httpx.Client, name: str) -> str:
    """Submit a job that goes on for a while, a generation every few milliseconds."""
    body = {"spec": "work", "input": {"name": name, "rounds": 100}}
    job_id: str = http.post("/v1/jobs", json=body).json()["id"]
    return job_id


def all_end(http: httpx.Client, accepted: list[str]) -> None:
    for job_id in accepted:
        answer = http.get(f"/v1/jobs/{job_id}?wait={min(BOUND_S, 60)}")
        assert answer.json()["status"] == "completed", answer.text


def test_reads_are_answered_while_nothing_can_be_kept(
    filled: tuple[Lives, Disk, httpx.Client, list[str]],
) -> None:
    _, _, http, accepted = filled
    paths = ("/healthz", "/v1/jobs", "/v1/specs", f"/v1/jobs/{accepted[0]}/result")
    answers = [http.get(path) for path in (*paths, *(f"/v1/jobs/{one}" for one in accepted))]

    assert {answer.status_code for answer in answers} == {200}
    failures = re.search(r"^cuttlebone_store_commit_failures_total (\S+)$",
                         http.get("/metrics").text, re.MULTILINE)  # fmt: skip
    assert failures is not None
    assert float(failures[1]) > 0
    assert http.get(f"/v1/jobs/{accepted[1]}").json()["status"] in {"queued", "running"}


def test_a_host_whose_disk_is_full_is_not_ready_until_there_is_room(
    filled: tuple[Lives, Disk, httpx.Client, list[str]],
) -> None:
    _, disk, http, _ = filled
    full = http.get("/readyz")
    disk.free()
    deadline = time.monotonic() + BOUND_S
    while (again := http.get("/readyz")).status_code != 200:
        assert time.monotonic() < deadline, again.text

    assert full.status_code == 503
    assert full.json()["reasons"] == ["the job store cannot be written: database or disk is full"]


def test_a_host_goes_on_by_itself_once_there_is_room(
    filled: tuple[Lives, Disk, httpx.Client, list[str]],
) -> None:
    _, disk, http, accepted = filled
    disk.free()

    all_end(http, accepted)
    again = http.post("/v1/jobs", json={"spec": "echo", "input": "again"})
    assert again.status_code == 202
    all_end(http, [again.json()["id"]])


def test_a_host_that_is_killed_on_a_full_disk_loses_nothing(
    filled: tuple[Lives, Disk, httpx.Client, list[str]],
) -> None:
    lives, disk, http, accepted = filled
    lives.end()
    disk.free()
    lives.start()

    all_end(http, accepted)
    known = {one["id"] for one in http.get("/v1/jobs?limit=200").json()["jobs"]}
    assert known <= set(accepted)
