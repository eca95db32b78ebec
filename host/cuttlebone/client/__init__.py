"""A Python client of the HTTP API of a host: submit jobs, watch them, take their envelopes."""

from cuttlebone.client.awaiting import AsyncClient
from cuttlebone.client.blocking import Client
from cuttlebone.client.options import SubmitOptions
from cuttlebone.client.refusal import NoHost, Refused, Unreachable
from cuttlebone.client.resources import (
    BlockResource,
    DeliveryList,
    DeliveryResource,
    JobPage,
    JobResource,
    ModelResource,
    QueueResource,
    SpecList,
    SpecResource,
    StreamEvent,
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
