"""Request bodies: received within a limit, parsed exactly, checked with a pointer to each fault."""

import re
from typing import Annotated, Final, TypeVar

from fastapi import Request
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import ErrorDetails

from cuttlebone.api.pace import body_parts
from cuttlebone.errors import CallerError, FieldFault, ProblemCode
from cuttlebone.job.job import Submission
from cuttlebone.job_options import Limits, Priority, Recording
from cuttlebone.text import printable
from cuttlebone.text.json_values import pointer
from cuttlebone.text.suggestions import suggestion
from cuttlebone_abi import Json, MalformedMessage, load_json

LABELS_MAX: Final = 16
LABEL_KEY: Final = "[A-Za-z0-9._/-]{1,64}"
LABEL_VALUE_CHARS_MAX: Final = 256
SECONDS_MAX: Final = 366 * 24 * 3600
"""A year: the longest that a job may ask to wait or to be kept."""

_MEDIA_TYPE: Final = "application/json"

_SUBJECT: Final = re.compile("^(Input|String|Dictionary) should")
"""The pointer says already what it is that should."""

T = TypeVar("T", bound=BaseModel)

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
    labels: dict[LabelKey, LabelValue] = Field(
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


async def submission_body(request: Request) -> SubmissionBody:
    """Read the body of a submission; raise CallerError."""
    data = await receive_json(request, bytes_max=request.app.state.host.settings.body_bytes_max)
    return parse_body(SubmissionBody, data)


async def receive_json(request: Request, *, bytes_max: int) -> bytes:
    """Take in a JSON body, never holding more than `bytes_max` of it; raise CallerError.

    Not the framework's own limit: that one answers in plain text.
    """
    too_large = CallerError(
        ProblemCode.BODY_TOO_LARGE,
        f"a body has at most {bytes_max} bytes (`body_bytes_max`); "
        "give the path of a file instead of its content",
    )
    check_media_type(request, _MEDIA_TYPE)
    if bytes_announced(request) > bytes_max:
        raise too_large
    received = bytearray()
    async for chunk in body_parts(request):
        received += chunk
        if len(received) > bytes_max:
            raise too_large
    return bytes(received)


def check_media_type(request: Request, media_type: str) -> None:
    """Refuse a body that is encoded, or of another type, with CallerError `unsupported_media_type`."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated != media_type:
        raise CallerError(
            ProblemCode.UNSUPPORTED_MEDIA_TYPE,
            f"send the body as `Content-Type: {media_type}`, not as {printable(stated)!r}",
        )
    if "content-encoding" in request.headers:
        raise CallerError(
            ProblemCode.UNSUPPORTED_MEDIA_TYPE, "send the body without a `Content-Encoding`"
        )


def bytes_announced(request: Request) -> int:
    """How long a body says that it is; 0 if it does not.

    It only saves the trouble of receiving one that is too long: what comes has to be counted.
    """
    stated = request.headers.get("content-length", "")
    return int(stated) if stated.isdecimal() else 0


def parse_body(model: type[T], data: bytes) -> T:
    """Parse and check a body; raise CallerError `malformed_json` or `invalid_body`."""
    try:
        value = load_json(data)
    except MalformedMessage as error:
        raise CallerError(ProblemCode.MALFORMED_JSON, error.reason) from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = tuple(_fault(model, one) for one in error.errors(include_url=False))
    first = faults[0]
    raise CallerError(
        ProblemCode.INVALID_BODY,
        f"{first.pointer or 'the body'}: {first.message}"
        + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""),
        faults=faults,
    )


def _fault(model: type[BaseModel], fault: ErrorDetails) -> FieldFault:
    # A key of an object that breaks a rule is marked with one more part, which is no key.
    location = tuple(part for part in fault["loc"] if part != "[key]")
    match fault["type"]:
        case "extra_forbidden":
            message = f"unknown key{_suggestion(model, location)}"
        case "missing":
            message = "this key is required and missing"
        case "model_type" | "dict_type":
            message = "should be an object"
        case _:
            message = _SUBJECT.sub("should", fault["msg"])
    return FieldFault(printable(pointer(location)), message)


def _suggestion(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    known = Limits if location[0] == "limits" and len(location) > 1 else model
    return suggestion(str(location[-1]), known.model_fields)
