"""The scalar types of the wire: exact integers of a stated width, and any JSON."""

from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field

U32: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]
"""An integer of 32 bits, unsigned. A fraction, a bool or a string in its place is an error."""

U64: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=1 << 64)]
"""An integer of 64 bits, unsigned."""

Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""A finite JSON number; integers are welcome."""

T = TypeVar("T")


def _absent_if_empty(value: object) -> object:
    return None if value == [] else value


OptionalList: TypeAlias = Annotated[tuple[T, ...] | None, BeforeValidator(_absent_if_empty)]
"""A list that may be left out. An empty one counts as left out: there are SDKs that always write it."""

Json: TypeAlias = Any
"""Any JSON value as Python has it: None, bool, int, float, str, list, dict with string keys."""
