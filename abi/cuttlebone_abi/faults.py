"""What pydantic finds wrong with a value, in the words of JSON instead of those of Python."""

import re
from typing import Final

from pydantic_core import ErrorDetails

_SUBJECT: Final = re.compile("^(Input|String|Dictionary|Tuple|List|Value) should")


def requirement(fault: ErrorDetails) -> str:
    """Say what is required of a value, to follow its name: `should be an object`, `is required and missing`.

    Unknown keys are not its matter: only who knows the others can say what was probably meant.
    """
    context = fault.get("ctx", {})
    match fault["type"]:
        case "missing":
            return "is required and missing"
        case "value_error":
            return fault["msg"].removeprefix("Value error, ")
        case "model_attributes_type" | "model_type" | "dict_type":
            return "should be an object"
        case "tuple_type" | "list_type":
            return "should be an array"
        case "too_long" if "actual_length" in context:
            return f"has {context['actual_length']} elements, but may have {context['max_length']}"
        case _:
            return _SUBJECT.sub("should", fault["msg"])
