"""What all resources of the HTTP API have in common."""

from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Choice = TypeVar("Choice", bound=str)

OrNewer: TypeAlias = Annotated[Choice | str, Field(union_mode="left_to_right")]
"""One of the values of `Choice`; a host that is newer than its client may have others."""


class Resource(BaseModel):
    """Settings that all resources share.

    A host writes every field, null where it has no value. Whoever reads leaves aside what it does
    not know, and takes the default for a field of a later version than the host.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        from_attributes=True,
        json_schema_serialization_defaults_required=True,
    )
