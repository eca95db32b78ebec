"""What one served model is to be: role, server software, address, memory. Section by section a module."""

from cuttlebone.endpoints.config.spec.address import base_url, bind_address, port
from cuttlebone.endpoints.config.spec.arguments import FLAGS, check_arguments
from cuttlebone.endpoints.config.spec.reading import read_spec, write_spec
from cuttlebone.endpoints.config.spec.refusals import (
    AdmissionRefused,
    InvalidConfig,
    MalformedSpec,
    RefusalCode,
)
from cuttlebone.endpoints.config.spec.rules import validate
from cuttlebone.endpoints.config.spec.tokens import is_flag_value, is_number, is_plain_token
from cuttlebone.endpoints.config.spec.types import (
    Flavour,
    InferenceSpec,
    LatencyClass,
    MemoryBudget,
    ServeArguments,
)
from cuttlebone.endpoints.config.spec.workload import (
    Workload,
    WorkloadKind,
    inference_spec_of,
    workload,
)

__all__ = [
    "FLAGS",
    "AdmissionRefused",
    "Flavour",
    "InferenceSpec",
    "InvalidConfig",
    "LatencyClass",
    "MalformedSpec",
    "MemoryBudget",
    "RefusalCode",
    "ServeArguments",
    "Workload",
    "WorkloadKind",
    "base_url",
    "bind_address",
    "check_arguments",
    "inference_spec_of",
    "is_flag_value",
    "is_number",
    "is_plain_token",
    "port",
    "read_spec",
    "validate",
    "workload",
    "write_spec",
]
