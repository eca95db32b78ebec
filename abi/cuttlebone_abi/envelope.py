"""The envelope: the one fixed form in which every job ends. No field is ever added to it."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from cuttlebone_abi.scalars import U32, U64, Json

# No field is left out either, so that the JSON Schema requires each of them.
_FIXED: Final = ConfigDict(
    frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
)


class Usage(BaseModel):
    """What a job spent, also when it failed or was cancelled."""

    model_config = _FIXED

    tokens_in: U32
    tokens_out: U32
    duration_ms: U64
    model: str
    """Role or name of the model that served; empty if none did."""


class Failure(BaseModel):
    """Why a job did not complete."""

    model_config = _FIXED

    code: str
    message: str


class Completed(BaseModel):
    """A job that said `done`."""

    model_config = _FIXED

    status: Literal["completed"] = "completed"
    result: Json
    usage: Usage


class Failed(BaseModel):
    """A job that ended in an error of any kind."""

    model_config = _FIXED

    status: Literal["failed"] = "failed"
    error: Failure
    usage: Usage


class Cancelled(BaseModel):
    """A job that was cancelled by request."""

    model_config = _FIXED

    status: Literal["cancelled"] = "cancelled"
    error: Failure
    usage: Usage


Envelope: TypeAlias = Annotated[Completed | Failed | Cancelled, Field(discriminator="status")]
