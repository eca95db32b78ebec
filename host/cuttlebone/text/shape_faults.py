"""What pydantic finds wrong with a document, in the words of JSON instead of those of Python."""

from typing import Final

from pydantic_core import ErrorDetails

from cuttlebone.text.json_values import shown

_RULES: Final = {
    "string_type": "it must be text; in YAML, quote it",
    "int_type": "it must be a whole number, without a fraction and without quotes",
    "bool_type": "it must be true or false",
    "tuple_type": "it must be a list",
    "model_type": "it must be an object",
}


def reason_of(fault: ErrorDetails) -> str:
    """Say what is wrong with a value and what would be accepted. Unknown keys are not its matter."""
    if fault["type"] == "missing":
        return "missing; this field is required"
    rule = _RULES.get(fault["type"]) or fault["msg"].replace("Input should", "it must", 1)
    return f"{shown(fault['input'])} is refused: {rule}"
