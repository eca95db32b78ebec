"""The identity under which an endpoint is placed and accounted for."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cuttlebone.endpoints.config.spec.refusals import AdmissionRefused
from cuttlebone.endpoints.config.spec.rules import validate
from cuttlebone.endpoints.config.spec.types import Flavour, InferenceSpec
from cuttlebone.text.json_values import shown

VERSION_ADOPTED: Final = "adopted"
"""The version of an endpoint whose model somebody else chose."""


class WorkloadKind(StrEnum):
    """What a workload is."""

    INFERENCE = "inference"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Workload:
    """Something to be run. `spec` is there exactly when `kind` is inference."""

    kind: WorkloadKind
    id: str
    version: str
    spec: InferenceSpec | None = None


def workload(spec: InferenceSpec) -> Workload:
    """Give the workload of a spec; raise InvalidConfig if the spec is not valid."""
    validate(spec)
    version = VERSION_ADOPTED if spec.model is None else spec.model
    return Workload(WorkloadKind.INFERENCE, spec.role, version, spec)


def inference_spec_of(asked: Workload, runtime: Flavour) -> InferenceSpec:
    """Give the spec that `runtime` is to serve; raise AdmissionRefused for any other workload."""
    if asked.spec is None:
        reason = (
            f"{runtime} runs inference only, and the workload {shown(asked.id)} is "
            f"of the kind {asked.kind}; bring it to a runtime for that kind"
        )
        raise AdmissionRefused(reason)
    return asked.spec
