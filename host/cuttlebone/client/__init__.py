"""A Python client of the HTTP API of a host: submit jobs, watch them, take their envelopes."""

from cuttlebone.client.async_client import AsyncClient
from cuttlebone.client.job_selection import JobSelection, PageSelection
from cuttlebone.client.refusal import NoHost, Refused, Unreachable
from cuttlebone.client.stream_event import StreamEvent
from cuttlebone.client.submit_options import JobOptions, SubmitOptions
from cuttlebone.client.sync_client import Client
from cuttlebone.http_types import (
    BlockResource,
    DeliveryList,
    DeliveryResource,
    JobPage,
    JobResource,
    JobSummary,
    ListedJob,
    ModelResource,
    QueueResource,
    SpecList,
    SpecResource,
    UnusableSpec,
)

__all__ = [
    "AsyncClient",
    "BlockResource",
    "Client",
    "DeliveryList",
    "DeliveryResource",
    "JobOptions",
    "JobPage",
    "JobResource",
    "JobSelection",
    "JobSummary",
    "ListedJob",
    "ModelResource",
    "NoHost",
    "PageSelection",
    "QueueResource",
    "Refused",
    "SpecList",
    "SpecResource",
    "StreamEvent",
    "SubmitOptions",
    "Unreachable",
    "UnusableSpec",
]
