"""Jobs as a person names them, with the client against a host of canned answers."""

import json
from collections.abc import Sequence

import httpx
import pytest
import typer

from cuttlebone.cli.job_ids import JOBS_MAX, whole_id
from cuttlebone.client import Client, Refused

SUMMARY = {
    "spec": "s", "status": "completed", "attempt": 1, "created_at": "2026-11-29T18:11:18Z",
    "started_at": None, "finished_at": None, "labels": {}, "priority": "batch", "ttl_s": None,
    "expires_at": None, "record": "digests", "cancel_requested": False,
}  # fmt: skip


def _host(ids: Sequence[str]) -> Client:
    """A host with these jobs, the newest first, which gives them in pages."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/v1/jobs":
            problem = {"type": "about:blank", "title": "t", "status": 404, "detail": "there is no such job", "code": "unknown_job", "instance": request.url.path}  # fmt: skip
            return httpx.Response(404, json=problem)
        at, limit = int(request.url.params.get("cursor", 0)), int(request.url.params["limit"])
        page = [{**SUMMARY, "id": one, "links": _links(one)} for one in ids[at : at + limit]]
        cursor = str(at + limit) if at + limit < len(ids) else None
        return httpx.Response(200, content=json.dumps({"jobs": page, "cursor": cursor}))

    return Client("http://host", transport=httpx.MockTransport(answer))


def _links(job_id: str) -> dict[str, str]:
    return dict.fromkeys(("self", "events", "result", "cancel", "journal", "spec"), f"/{job_id}")


IDS = ("newest-1", "newest-2", "older-01")


@pytest.mark.parametrize(
    ("stated", "meant"),
    [("last", IDS[0]), ("last~0", IDS[0]), ("last~2", IDS[2]), ("o", IDS[2]), ("newest-2", IDS[1])],
)
def test_a_job_is_named_by_its_beginning_or_counted_back(stated: str, meant: str) -> None:
    with _host(IDS) as client:
        assert whole_id(client, stated) == meant


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ("newest", "newest is the beginning of 2 ids: newest-1, newest-2"),
        ("last~3", "last~3: there are only 3 jobs"),
        (f"last~{JOBS_MAX}", f"at most last~{JOBS_MAX - 1}"),
    ],
)
def test_what_names_no_single_job_is_said(stated: str, reason: str) -> None:
    with _host(IDS) as client, pytest.raises(typer.BadParameter, match=reason):
        whole_id(client, stated)


def test_a_beginning_of_none_is_refused_as_the_host_does() -> None:
    with _host(IDS) as client, pytest.raises(Refused, match="there is no such job"):
        whole_id(client, "nothing")


def test_of_many_that_begin_so_some_are_named() -> None:
    named = "4 ids: same-0000, same-0001, same-0002, …"
    ids = [f"same-{at:04}" for at in range(4)]
    with _host(ids) as client, pytest.raises(typer.BadParameter, match=named):
        whole_id(client, "same")


def test_a_beginning_is_looked_for_among_so_many_jobs() -> None:
    ids = [f"job-{at:05}" for at in range(JOBS_MAX)]
    with _host([*ids, "oldest-job"]) as client:
        assert whole_id(client, "job-01999") == ids[-1]
        assert whole_id(client, f"last~{JOBS_MAX - 1}") == ids[-1]
        with pytest.raises(Refused):
            whole_id(client, "oldest")


def test_no_jobs_are_said_so() -> None:
    with _host(()) as client, pytest.raises(typer.BadParameter, match="there are no jobs"):
        whole_id(client, "last")
