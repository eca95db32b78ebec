"""Submissions that come together are accepted together, each answered for itself."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from fastapi import Response

from api.hosted import BOUND_S, SCRIPTS
from cuttlebone.access import Quotas
from cuttlebone.access.callers import LOCAL
from cuttlebone.api.submission_batcher import GROUP_MAX, GROUPS_AT_ONCE, SubmissionBatcher
from cuttlebone.api.submission_body import SubmissionBody
from cuttlebone.errors import CallerError, OperatorError, ProblemCode
from cuttlebone.job.job import Admitted, Submission
from cuttlebone.job.job_filter import JobFilter
from cuttlebone.service.job_service import JobService
from cuttlebone.settings import Settings
from hosts import scripted_host


class Gated(JobService):
    """A job service that begins nothing until the test lets it, and says what it was asked. Owner: a test."""

    def __init__(self, whole: JobService) -> None:
        vars(self).update(vars(whole))
        self.looking = threading.Semaphore(0)
        """Released each time that it is asked for the specs."""
        self.go_on = threading.Event()
        self.looks = 0

    def refresh(self) -> None:
        self.looks += 1
        self.looking.release()
        assert self.go_on.wait(BOUND_S), "the test never let it go on"
        super().refresh()

    def admit(
        self,
        submission: Submission,
        *,
        idempotency_key: str | None = None,
        tenant_waiting_max: int | None = None,
    ) -> Future[Admitted]:
        if submission.spec == "broken":
            raise OperatorError("nobody can run this")
        return super().admit(
            submission, idempotency_key=idempotency_key, tenant_waiting_max=tenant_waiting_max
        )


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Gated]:
    with scripted_host(tmp_path, SCRIPTS) as host:
        yield Gated(host.jobs)


def submission(spec: str = "echo") -> SubmissionBody:
    return SubmissionBody.model_validate({"spec": spec, "input": 1})


async def under_way(
    service: Gated, batcher: SubmissionBatcher, specs: list[str]
) -> list[asyncio.Task[Response]]:
    """Submit one after another; return once as many groups as there can be are under way."""
    tasks = []
    for number, spec in enumerate(specs):
        tasks.append(asyncio.create_task(batcher.accept(LOCAL, submission(spec))))
        await asyncio.sleep(0)
        if number < GROUPS_AT_ONCE:
            assert await asyncio.to_thread(service.looking.acquire, timeout=BOUND_S)
    return tasks


def test_those_that_come_while_groups_are_under_way_are_the_next_group(service: Gated) -> None:
    async def submit() -> list[Response]:
        tasks = await under_way(
            service, SubmissionBatcher(service, Quotas(Settings())), ["echo"] * 20
        )
        service.go_on.set()
        return await asyncio.gather(*tasks)

    answers = asyncio.run(submit())

    assert [answer.status_code for answer in answers] == [202] * 20
    assert len(service.find(JobFilter(limit=100))) == 20
    assert service.looks <= GROUPS_AT_ONCE + 2  # and not once for each


def test_a_group_has_its_bound(service: Gated) -> None:
    async def submit() -> list[Response]:
        specs = ["echo"] * (GROUPS_AT_ONCE + GROUP_MAX + 1)
        tasks = await under_way(service, SubmissionBatcher(service, Quotas(Settings())), specs)
        service.go_on.set()
        return await asyncio.gather(*tasks)

    answers = asyncio.run(submit())

    assert {answer.status_code for answer in answers} == {202}
    assert service.looks == GROUPS_AT_ONCE + 2  # what waited was too much for one


def test_one_that_is_refused_does_not_touch_the_others_of_its_group(service: Gated) -> None:
    async def submit() -> list[Response | BaseException]:
        specs = ["echo"] * GROUPS_AT_ONCE + ["echo", "unknown", "broken", "echo"]
        tasks = await under_way(service, SubmissionBatcher(service, Quotas(Settings())), specs)
        service.go_on.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    *_, first, unknown, broken, last = asyncio.run(submit())

    assert isinstance(first, Response)
    assert isinstance(unknown, CallerError)
    assert unknown.code is ProblemCode.UNKNOWN_SPEC
    assert isinstance(broken, OperatorError)
    assert isinstance(last, Response)


def test_who_has_gone_meanwhile_takes_nothing_from_the_others(service: Gated) -> None:
    async def submit() -> list[Response | BaseException]:
        tasks = await under_way(
            service, SubmissionBatcher(service, Quotas(Settings())), ["echo"] * 6
        )
        for task in tasks[::2]:
            task.cancel()
        service.go_on.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ended = asyncio.run(submit())

    assert [isinstance(one, Response) for one in ended] == [False, True] * 3


def test_after_a_pause_a_submission_is_taken_at_once(service: Gated) -> None:
    service.go_on.set()

    async def submit() -> None:
        batcher = SubmissionBatcher(service, Quotas(Settings()))
        for _ in range(5):
            answer = await asyncio.wait_for(batcher.accept(LOCAL, submission()), BOUND_S)
            assert answer.status_code == 202

    asyncio.run(submit())
    assert service.looks == 5
