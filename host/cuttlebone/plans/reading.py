"""Planning documents and their words from plain values, and back with every field written."""

from enum import StrEnum
from typing import TypeVar

from pydantic import ValidationError

from cuttlebone.errors import OperatorError
from cuttlebone.plans.documents import Document
from cuttlebone.text.json_values import Json, pointer, shown, value_fault
from cuttlebone.text.shape_faults import reason_of

D = TypeVar("D", bound=Document)
E = TypeVar("E", bound=StrEnum)


class MalformedPlan(OperatorError):
    """A value that has not the shape of the document it is to be. `pointer` leads to the fault."""

    def __init__(self, kind: str, pointer: str, reason: str) -> None:
        super().__init__(f"{kind}{f' at {pointer}' if pointer else ''}: {reason}")
        self.pointer = pointer
        self.reason = reason


def read(kind: type[D], value: object) -> D:
    """Read a document; raise MalformedPlan. `value` is plain JSON, as `text.documents` gives it."""
    if (fault := value_fault(value)) is not None:
        raise MalformedPlan(kind.__name__, pointer(fault.path), fault.reason)
    if not isinstance(value, dict):
        raise MalformedPlan(kind.__name__, "", f"must be an object, not {shown(value)}")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise MalformedPlan(kind.__name__, pointer(first["loc"]), reason_of(first)) from None


def read_word(kind: type[E], value: object) -> E:
    """Read a value of an enumeration, in its exact spelling; raise MalformedPlan."""
    for known in kind:
        if isinstance(value, str) and value == known:
            return known
    reason = f"{shown(value)} is none of {', '.join(kind)}"
    raise MalformedPlan(kind.__name__, "", reason)


def write(document: Document) -> dict[str, Json]:
    """Write a document with all of its fields, defaults included."""
    return document.model_dump(mode="json")
