"""The refusals of endpoint specs, sorted by what is wrong: the shape, a value, or the runtime asked."""

from enum import StrEnum

from cuttlebone.errors import OperatorError


class RefusalCode(StrEnum):
    """The machine's word for a refusal that is not one of shape."""

    INVALID_CONFIG = "invalid-config"
    ADMISSION_REFUSED = "admission-refused"


class MalformedSpec(OperatorError):
    """A document that has not the shape of an endpoint spec. `field` is the place, dotted."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason


class InvalidConfig(OperatorError):
    """A spec of the right shape with a value that is refused. `field` is the place, dotted."""

    code = RefusalCode.INVALID_CONFIG

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class AdmissionRefused(OperatorError):
    """A workload that the runtime it was brought to does not run."""

    code = RefusalCode.ADMISSION_REFUSED
