"""The body of a submission: what may be asked of a job, and the bounds of each part."""

from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from cuttlebone.job.job import Submission
from cuttlebone.job_options import Limits, Priority, Recording
from cuttlebone_abi import Json

LABELS_MAX: Final = 16
LABEL_KEY: Final = "[A-Za-z0-9._/-]{1,64}"
LABEL_VALUE_CHARS_MAX: Final = 256
OWN_ID: Final = r"^[A-Za-z0-9_-]{8,64}$"
KEY: Final = "^[!-~]+$"
KEY_CHARS_MAX: Final = 255
SECONDS_MAX: Final = 366 * 24 * 3600
"""A year: the longest that a job may ask to wait or to be kept."""

LabelKey = Annotated[str, StringConstraints(pattern=f"^{LABEL_KEY}$")]


def _whole(value: Json) -> Json:
    """Take 5.0 for 5, as JSON Schema does, here and in the values of an object."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: _whole(part) for name, part in value.items()}
        case _:
            return value


def _not_many(labels: Json) -> Json:
    """Refuse too many labels before each of them is looked at."""
    if isinstance(labels, dict) and len(labels) > LABELS_MAX:
        raise PydanticCustomError(
            "too_long",
            "has {actual_length} elements, but may have {max_length}",
            {"actual_length": len(labels), "max_length": LABELS_MAX},
        )
    return labels


Seconds = Annotated[int, Field(ge=1, le=SECONDS_MAX), BeforeValidator(_whole)]
LabelValue = Annotated[str, StringConstraints(max_length=LABEL_VALUE_CHARS_MAX)]


class SubmissionBody(BaseModel):
    """What to run, and on what."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    spec: str = Field(description="Name of a spec; GET /v1/specs lists them.")
    input: Json = Field(description="Any JSON value that fits the input schema of the spec.")
    limits: Annotated[Limits | None, BeforeValidator(_whole)] = Field(
        None,
        description="Narrows the limits of the spec for this job; a higher value changes nothing.",
    )
    labels: Annotated[dict[LabelKey, LabelValue], BeforeValidator(_not_many)] = Field(
        {},
        max_length=LABELS_MAX,
        json_schema_extra={"additionalProperties": False},
        description="Kept with the job, to find it again. The host gives them no meaning.",
    )
    # Strictness would demand the enum itself, which no JSON has.
    priority: Annotated[Priority, Field(strict=False)] = Field(
        Priority.BATCH,
        description="`interactive` goes before `batch`, but not before jobs that have waited long.",
    )
    ttl_s: Seconds | None = Field(
        None,
        description="How long the job is kept after its end; without it as long as the host keeps any.",
    )
    expires_in_s: Seconds | None = Field(
        None,
        description="How long the job may wait to be started; it is `timeout` after that.",
    )
    record: Annotated[Recording, Field(strict=False)] | None = Field(
        None,
        description="How much the journal keeps of commands and events; without it what the spec says.",
    )
    callback_url: str | None = Field(
        None,
        description="Where the end of the job is told, signed; a host that the operator has listed.",
    )

    def submission(self, *, tenant: str, job_id: str | None = None) -> Submission:
        """What the job service takes."""
        return Submission(
            spec=self.spec,
            input=self.input,
            limits=self.limits,
            labels=dict(self.labels),
            priority=self.priority,
            ttl_s=self.ttl_s,
            expires_in_s=self.expires_in_s,
            record=self.record,
            callback_url=self.callback_url,
            job_id=job_id,
            tenant=tenant,
        )


class BatchedSubmission(SubmissionBody):
    """A line of a batch: a submission with what its request would say beside the body."""

    job_id: Annotated[str, StringConstraints(pattern=OWN_ID)] | None = Field(
        None, description="An id that the client makes, as in `PUT /v1/jobs/{job_id}`."
    )
    idempotency_key: (
        Annotated[str, StringConstraints(pattern=KEY, min_length=1, max_length=KEY_CHARS_MAX)]
        | None
    ) = Field(None, description="As the header `Idempotency-Key`.")
