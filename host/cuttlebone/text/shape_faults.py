"""What pydantic finds wrong with a document, with the value that is refused and what would be accepted."""

from typing import Final

from pydantic_core import ErrorDetails

from cuttlebone.text.json_values import shown
from cuttlebone_abi.faults import requirement

_RULES: Final = {
    "string_type": "it must be text; in YAML, quote it",
    "int_type": "it must be a whole number, without a fraction and without quotes",
    "bool_type": "it must be true or false",
    "tuple_type": "it must be a list",
    "list_type": "it must be a list",
    "model_type": "it must be an object",
}


def reason_of(fault: ErrorDetails) -> str:
    """Say what is wrong with a value and what would be accepted."""
    if fault["type"] == "missing":
        return "missing; this field is required"
    if fault["type"] == "extra_forbidden":
        return "unknown key"  # without its value, which may well be the key of some API
    rule = _RULES.get(fault["type"]) or requirement(fault).replace("should", "it must", 1)
    return f"{shown(fault['input'])} is refused: {rule}"
