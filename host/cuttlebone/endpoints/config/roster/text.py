"""The text of a roster or overlay, bounded, and what is said of a tree of another shape."""

from typing import Final

from cuttlebone.endpoints.config.roster.refusals import RosterFault, RosterRefused
from cuttlebone.text.documents import decoded
from cuttlebone.text.json_values import MalformedDocument
from cuttlebone.text.yaml_nodes import Mapping, Node

TEXT_BYTES_MAX: Final = 1 << 20


def text_of(
    given: str | bytes, name: str, *, too_large: RosterFault, unreadable: RosterFault
) -> str:
    """Give the text less a byte order mark; raise RosterRefused with one of the two faults.

    The bound comes first: what was cut off behind it may end amidst a character.
    """
    data = given if isinstance(given, bytes) else given.encode(errors="surrogatepass")
    if len(data) > TEXT_BYTES_MAX:
        reason = f"the {name} has more than {TEXT_BYTES_MAX} bytes (1 MiB), the most that is read"
        raise RosterRefused(too_large, reason)
    if isinstance(given, str):
        return given.removeprefix("\ufeff")
    try:
        return decoded(given)
    except MalformedDocument as error:
        raise RosterRefused(unreadable, f"the {name} cannot be read: {error}") from None


def mapping_of(node: Node, what: str) -> Mapping:
    """Give a node that has to be a mapping; raise MalformedDocument."""
    if isinstance(node, Mapping):
        return node
    raise misshapen(node, f"{what} is a mapping, which this is not")


def misshapen(node: Node, reason: str) -> MalformedDocument:
    """Say what is wrong with a node, and where it is."""
    return MalformedDocument(f"line {node.line}: {reason}")
