"""A value of a declared type: the input on which a block is tried out."""

from cuttlebone_abi import Json
from cuttlebone_abi.signatures import ListOf, Record, Scalar, Type


def sample_of(kind: Type) -> Json:
    """The plainest value of a type: empty text, 0, false, one element, every declared field."""
    match kind:
        case Scalar("text"):
            return ""
        case Scalar("number"):
            return 0
        case Scalar("bool"):
            return False
        case Scalar():
            return {}
        case ListOf(item):
            return [sample_of(item)]
        case Record(fields):
            return {name: sample_of(child) for name, child in fields}
