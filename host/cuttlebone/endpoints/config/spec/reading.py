"""Endpoint specs from plain values and back; every refusal of shape names the field."""

from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cuttlebone.endpoints.config.spec.refusals import MalformedSpec
from cuttlebone.endpoints.config.spec.types import Flavour, InferenceSpec, ServeArguments
from cuttlebone.text.json_values import Json, Path, pointer, shown, value_fault
from cuttlebone.text.shape_faults import reason_of

_KNOWN: Final = {
    (): tuple(InferenceSpec.model_fields),
    ("serve",): tuple(ServeArguments.model_fields),
}


_REQUIRED: Final = {
    "role": "it is the name that consumers ask for, text of 1 to 64 bytes",
    "runtime": f"it is one of {', '.join(Flavour)}",
    "weights_bytes": "it is a whole number of bytes; leave out memory if nothing is known",
    "kv_budget_bytes": "it is a whole number of bytes; leave out memory if nothing is known",
}


def read_spec(value: object) -> InferenceSpec:
    """Read the document of a spec; raise MalformedSpec if it has not that shape.

    `value` is plain JSON, as `text.documents` gives it. Values are not judged here: see `rules`.
    """
    if (fault := value_fault(value)) is not None:
        raise MalformedSpec(_dotted(fault.path), fault.reason)
    if not isinstance(value, dict):
        raise MalformedSpec("", f"a spec is an object with role and runtime, not {shown(value)}")
    try:
        return InferenceSpec.model_validate(value)
    except ValidationError as error:
        raise _malformed(error.errors(include_url=False)[0]) from None


def write_spec(spec: InferenceSpec) -> dict[str, Json]:
    """Write a spec as a document: keys in the order of its fields, what is absent or empty left out."""
    document: dict[str, Json] = spec.model_dump(mode="json", exclude_none=True)
    serve = document["serve"]
    for holder, key in ((document, "excludes"), (serve, "extra_args")):
        if isinstance(holder, dict) and not holder[key]:
            del holder[key]
    return document


def field_pointer(field: str) -> str:
    """Give the JSON Pointer of a dotted field: `serve.extra_args[2]` is `/serve/extra_args/2`."""
    return pointer(part for part in field.replace("[", ".").replace("]", "").split(".") if part)


def _malformed(fault: ErrorDetails) -> MalformedSpec:
    path: Path = fault["loc"]
    reason = reason_of(fault)
    if fault["type"] == "missing":
        reason = f"{reason}: {_REQUIRED[str(path[-1])]}"
    elif fault["type"] == "extra_forbidden":
        known = _KNOWN.get(tuple(map(str, path[:-1])), ())
        # Its value is not shown: what has no place here may well be the key of some API.
        reason = f"unknown key; known are {', '.join(known)}"
    return MalformedSpec(_dotted(path), reason)


def _dotted(path: Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")
