"""A Python client of the HTTP API of a host: submit jobs, watch them, take their envelopes."""

from cuttlebone.client.blocking import Client
from cuttlebone.client.refusal import Refused, Unreachable
from cuttlebone.client.resources import (
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
    "Client",
    "JobPage",
    "JobResource",
    "ModelResource",
    "QueueResource",
    "Refused",
    "SpecList",
    "SpecResource",
    "StreamEvent",
    "Unreachable",
    "UnusableSpec",
]
