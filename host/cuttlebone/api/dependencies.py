"""What routes ask for: who asks and whether they may, the services of the host, the job of the path."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Depends, Path, Query, Request
from fastapi.dependencies.models import Dependant

from cuttlebone.access import Caller, Quotas, TokenScope
from cuttlebone.access.authenticator import require
from cuttlebone.api.app_state import state_of
from cuttlebone.api.authorization_header import credential_of
from cuttlebone.api.request_body import parse_body, receive_json
from cuttlebone.api.submission_body import OWN_ID, SubmissionBody
from cuttlebone.api.subscribers import Subscribers, Subscription
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.job import Job, JobKey
from cuttlebone.service.host_status import HostStatus
from cuttlebone.service.job_service import JobService
from cuttlebone.service.spec_service import SpecService
from cuttlebone.text import printable
from cuttlebone.text.suggestions import suggestion

SHA256 = "^[0-9a-f]{64}$"


async def _jobs(request: Request) -> JobService:
    return state_of(request.app).host.jobs


async def _specs(request: Request) -> SpecService:
    return state_of(request.app).host.specs


async def _status(request: Request) -> HostStatus:
    return state_of(request.app).host.status


async def _subscribers(request: Request) -> Subscribers:
    return state_of(request.app).subscribers


async def _quotas(request: Request) -> Quotas:
    return state_of(request.app).quotas


async def _submission_body(request: Request) -> SubmissionBody:
    bytes_max = state_of(request.app).host.settings.body_bytes_max
    return parse_body(SubmissionBody, await receive_json(request, bytes_max=bytes_max))


JobId: TypeAlias = Annotated[str, Path(description="Id of a job.", max_length=256)]
OwnJobId: TypeAlias = Annotated[
    str,
    Path(
        description="An id that the client makes, unique among the jobs of its tenant.",
        pattern=OWN_ID,
    ),
]
BlockSha256: TypeAlias = Annotated[
    str, Path(description="SHA-256 of the wasm file, in lower-case hexadecimal.", pattern=SHA256)
]
SpecName: TypeAlias = Annotated[str, Path(description="Name of a spec.", max_length=256)]
Jobs: TypeAlias = Annotated[JobService, Depends(_jobs)]
Specs: TypeAlias = Annotated[SpecService, Depends(_specs)]
Status: TypeAlias = Annotated[HostStatus, Depends(_status)]
AllQuotas: TypeAlias = Annotated[Quotas, Depends(_quotas)]
AllSubscribers: TypeAlias = Annotated[Subscribers, Depends(_subscribers)]
Submitted: TypeAlias = Annotated[SubmissionBody, Depends(_submission_body)]


def caller_of(request: Request) -> Caller:
    """Who asks. Only in a route that is `allowed` to some."""
    found: Caller = request.state.caller
    return found


async def _caller(request: Request) -> Caller:
    return caller_of(request)


CurrentCaller: TypeAlias = Annotated[Caller, Depends(_caller)]


def allowed(scope: TokenScope) -> Any:  # what the framework takes has no public type
    """Let only callers with that scope through. Stands in the list of a route, so it comes first."""

    async def check(request: Request) -> None:
        state = state_of(request.app)
        caller = state.authenticator.caller(credential_of(request))
        state.quotas.count_request(caller)
        require(caller, scope)
        request.state.caller = caller
        _check_query(request)

    return Depends(check)


def _check_query(request: Request) -> None:
    """Refuse a key that a route does not know: one that is misspelt would mean all jobs, not some."""
    if not request.scope["query_string"]:
        return
    known = set(_query_keys(request.scope["route"].dependant))
    for key in request.query_params:
        if key not in known:
            shown = printable(key, chars_max=64)
            raise CallerError(
                ProblemCode.BAD_REQUEST,
                f"`{shown}` in the query: unknown key{suggestion(key, known)}",
            )


def _query_keys(asked: Dependant) -> Iterator[str]:
    """What a route and all that it asks for take from the query."""
    yield from (one.alias for one in asked.query_params)
    for other in asked.dependencies:
        yield from _query_keys(other)


async def _known_query(request: Request) -> None:
    _check_query(request)


KnownQuery: Final = Depends(_known_query)
"""Refuses keys that a route does not know. For routes that everybody may ask; `allowed` does it for the others."""


async def _seen_tenant(
    caller: CurrentCaller,
    tenant: Annotated[
        str | None,
        Query(
            description="Whose jobs are meant, for a token with the scope `admin`; else one's own.",
            max_length=64,
        ),
    ] = None,
) -> str:
    if tenant is None or tenant == caller.tenant:
        return caller.tenant
    require(caller, TokenScope.ADMIN)
    return tenant


SeenTenant: TypeAlias = Annotated[str, Depends(_seen_tenant)]


def _job(job_id: JobId, jobs: Jobs, tenant: SeenTenant) -> Job:
    return jobs.get(JobKey(tenant, job_id))


ExistingJob: TypeAlias = Annotated[Job, Depends(_job)]


async def _journal_slot(request: Request, tenant: SeenTenant) -> AsyncIterator[None]:
    # Ends with the response, as what `_subscription` gives.
    with state_of(request.app).journal_slots.taken(tenant):
        yield


JournalSlot: TypeAlias = Annotated[None, Depends(_journal_slot)]


async def _subscription(
    job: ExistingJob,
    jobs: Jobs,
    subscribers: AllSubscribers,
    quotas: AllQuotas,
    caller: CurrentCaller,
) -> AsyncIterator[Subscription]:
    # Ends with the response, not with the generator that streams it: that one may hang in the
    # middle of an event when its client goes.
    with quotas.stream(caller), subscribers.subscribe(jobs, job) as subscription:
        yield subscription


ToThisJob: TypeAlias = Annotated[Subscription, Depends(_subscription)]
