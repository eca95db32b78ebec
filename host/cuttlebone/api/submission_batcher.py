"""Takes submissions in by the group: those that come while one group is on its way are the next."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar, cast

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Response

from cuttlebone.access import Caller, Quotas
from cuttlebone.api.resource_views import job_answer, job_path
from cuttlebone.api.submission_body import SubmissionBody
from cuttlebone.job.job import Admitted
from cuttlebone.service.job_service import JobService

GROUPS_AT_ONCE: Final = 2
"""So that one is being checked while the other waits for the disk."""
GROUP_MAX: Final = 64
"""Submissions in one group: the first is answered after the last was begun."""

T = TypeVar("T")

_Finish: TypeAlias = Callable[[], Response]
"""Waits until a submission is durable, and answers; may raise."""
_Begin: TypeAlias = Callable[[], _Finish]
"""Checks a submission and hands it to the store; may raise."""
_Group: TypeAlias = list[tuple[_Begin, asyncio.Future[Response]]]


class SubmissionBatcher:
    """Accepts submissions in threads of its own. Owner: the event loop.

    Handing each request to a thread and back costs more than accepting it. Invariant: what waits
    is taken by a group that is under way, of which there are at most GROUPS_AT_ONCE.
    """

    def __init__(self, jobs: JobService, quotas: Quotas) -> None:
        self._jobs = jobs
        self._quotas = quotas
        self._waiting: _Group = []
        self._limiter = CapacityLimiter(GROUPS_AT_ONCE)
        self._groups: set[asyncio.Task[None]] = set()

    async def accept(
        self,
        caller: Caller,
        body: SubmissionBody,
        *,
        job_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Response:
        """Accept a job and answer with it; raise as `JobService.admit` and `Quotas` do."""
        begin = partial(self._begin, caller, body, job_id, idempotency_key)
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append((begin, answer))
        if len(self._groups) < GROUPS_AT_ONCE:
            self._groups.add(asyncio.create_task(self._take_groups()))
        return await answer

    async def _take_groups(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:GROUP_MAX], self._waiting[GROUP_MAX:]
                await self._take(group)
        finally:  # at once: whoever comes next must not count on this one
            self._groups.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _take(self, group: _Group) -> None:
        try:
            outcomes = await run_sync(
                self._accepted, [begin for begin, _ in group], limiter=self._limiter
            )
        except BaseException:
            for _, answer in group:
                answer.cancel()
            raise
        for (_, answer), outcome in zip(group, outcomes, strict=True):
            if answer.done():
                continue  # nobody waits for it any more
            if isinstance(outcome, Response):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)

    # In a thread.

    def _accepted(self, group: Sequence[_Begin]) -> list[Response | Exception]:
        """Begin all, so that they share a look at the specs and a commit, then finish each."""
        unready = _tried(self._jobs.refresh)
        if unready is not None:
            return [unready] * len(group)
        begun = [_tried(begin) for begin in group]
        return [one if isinstance(one, Exception) else _tried(one) for one in begun]

    def _begin(
        self, caller: Caller, body: SubmissionBody, job_id: str | None, idempotency_key: str | None
    ) -> _Finish:
        self._quotas.check_stored(caller, self._jobs.stored_bytes)
        coming = self._jobs.admit(
            body.submission(tenant=caller.tenant, job_id=job_id),
            idempotency_key=idempotency_key,
            tenant_waiting_max=self._quotas.waiting_max(caller),
        )
        return lambda: self._answer(coming.result())

    def _answer(self, admitted: Admitted) -> Response:
        headers = {"Location": job_path(admitted.job.id)}
        if admitted.replayed:
            headers["Idempotent-Replayed"] = "true"
        return job_answer(self._jobs, admitted.job, status=202, headers=headers)


def _tried(act: Callable[[], T]) -> T | Exception:
    try:
        return act()
    except Exception as error:  # noqa: BLE001  # it is the submitter's, who gets it
        return error
