"""A Python client of the HTTP API of a host: submit jobs, watch them, take their envelopes."""

from cuttlebone.client.awaiting import AsyncClient
from cuttlebone.client.blocking import Client
from cuttlebone.client.options import SubmitOptions
from cuttlebone.client.refusal import NoHost, Refused, Unreachable
from cuttlebone.client.stream_event import StreamEvent
from cuttlebone.http_types import (
    BlockResource,
    DeliveryList,
    DeliveryResource,
    JobPage,
    JobResource,
    JobSummary,
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
    "JobPage",
    "JobResource",
    "JobSummary",
    "ModelResource",
    "NoHost",
    "QueueResource",
    "Refused",
    "SpecList",
    "SpecResource",
    "StreamEvent",
    "SubmitOptions",
    "Unreachable",
    "UnusableSpec",
]
