"""What routes ask for: the job service, the job of the path, a subscription to it."""

from collections.abc import AsyncIterator
from typing import Annotated, TypeAlias

from fastapi import Depends, FastAPI, Path, Request

from cuttlebone.api.bodies import SubmissionBody, submission_body
from cuttlebone.api.subscribers import Subscribers, Subscription
from cuttlebone.jobs.job import Job
from cuttlebone.jobs.service import JobService


def subscribers_of(app: FastAPI) -> Subscribers:
    """Return everybody who follows a job through `app`."""
    found: Subscribers = app.state.subscribers
    return found


async def _service(request: Request) -> JobService:
    found: JobService = request.app.state.service
    return found


async def _subscribers(request: Request) -> Subscribers:
    found: FastAPI = request.app
    return subscribers_of(found)


JobId: TypeAlias = Annotated[str, Path(description="Id of a job.", max_length=256)]
SpecName: TypeAlias = Annotated[str, Path(description="Name of a spec.", max_length=256)]
Service: TypeAlias = Annotated[JobService, Depends(_service)]
AllSubscribers: TypeAlias = Annotated[Subscribers, Depends(_subscribers)]
Submitted: TypeAlias = Annotated[SubmissionBody, Depends(submission_body)]


def _job(job_id: JobId, service: Service) -> Job:
    return service.get(job_id)


ExistingJob: TypeAlias = Annotated[Job, Depends(_job)]


async def _subscription(
    job: ExistingJob, service: Service, subscribers: AllSubscribers
) -> AsyncIterator[Subscription]:
    # Ends with the response, not with the generator that streams it: that one may hang in the
    # middle of an event when its client goes.
    with subscribers.subscribe(service, job.id) as subscription:
        yield subscription


ToThisJob: TypeAlias = Annotated[Subscription, Depends(_subscription)]
