"""What the HTTP API answers, as types: the host writes them, clients read them."""

from cuttlebone.http_types.host_resources import (
    Health,
    ModelList,
    ModelResource,
    ReadinessResource,
)
from cuttlebone.http_types.job_resources import (
    AccountingResource,
    AttemptResource,
    DeliveryList,
    DeliveryResource,
    EventResource,
    JobLinks,
    JobPage,
    JobResource,
    JobSummary,
    QueueResource,
)
from cuttlebone.http_types.problem_document import FieldProblem, Problem
from cuttlebone.http_types.spec_resources import (
    BlockLinks,
    BlockList,
    BlockResource,
    GrantsResource,
    SignatureResource,
    SpecBlock,
    SpecLinks,
    SpecList,
    SpecResource,
    UnusableSpec,
)

__all__ = [
    "AccountingResource",
    "AttemptResource",
    "BlockLinks",
    "BlockList",
    "BlockResource",
    "DeliveryList",
    "DeliveryResource",
    "EventResource",
    "FieldProblem",
    "GrantsResource",
    "Health",
    "JobLinks",
    "JobPage",
    "JobResource",
    "JobSummary",
    "ModelList",
    "ModelResource",
    "Problem",
    "QueueResource",
    "ReadinessResource",
    "SignatureResource",
    "SpecBlock",
    "SpecLinks",
    "SpecList",
    "SpecResource",
    "UnusableSpec",
]
