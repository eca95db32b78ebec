"""The shape of a roster file: which keys an entry has, and text taken as it was written."""

from dataclasses import dataclass
from typing import Final

from cuttlebone.endpoints.config.roster.refusals import RosterFault, RosterRefused
from cuttlebone.endpoints.config.roster.text import mapping_of, misshapen, text_of
from cuttlebone.text.json_values import MalformedDocument, shown
from cuttlebone.text.yaml_core import scalar_value
from cuttlebone.text.yaml_nodes import Mapping, Node, Scalar, Sequence, compose

ENTRIES_MAX: Final = 256
PORT_MAX: Final = 65535


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a roster, as written. Text that is missing is empty."""

    id: str
    role: str
    name: str
    repo: str
    backend: str
    status: str
    port: int | None
    ram_gb: int | float | str | None


def read_roster(given: str | bytes) -> tuple[Entry, ...]:
    """Read the entries of a roster in file order; raise RosterRefused for the whole file."""
    text = text_of(given, "roster", too_large=RosterFault.TOO_LARGE, unreadable=RosterFault.PARSE)
    try:
        top = mapping_of(compose(text), "a roster")
        listed = top.entries.get("roster", Sequence((), 1, 1))
        if not isinstance(listed, Sequence):
            raise misshapen(listed, "roster must be a list of entries")
        entries = tuple(map(_entry, listed.items))
    except MalformedDocument as error:
        raise RosterRefused(RosterFault.PARSE, f"the roster cannot be read: {error}") from None
    if len(entries) > ENTRIES_MAX:
        reason = f"the roster has {len(entries)} entries; at most {ENTRIES_MAX} are read: split it"
        raise RosterRefused(RosterFault.TOO_MANY_ENTRIES, reason)
    return entries


def _entry(node: Node) -> Entry:
    row = mapping_of(node, "an entry of the roster")
    if "id" not in row.entries:
        raise misshapen(row, "an entry without id; every entry needs one")
    return Entry(
        id=_text(row, "id"),
        role=_text(row, "role"),
        name=_text(row, "name"),
        repo=_text(row, "repo"),
        backend=_text(row, "backend"),
        status=_text(row, "status"),
        port=_port(row),
        ram_gb=_ram_gb(row),
    )


def _text(row: Mapping, key: str) -> str:
    """Take a scalar as written: an unquoted 007 or yes is that text, and so are ~ and null."""
    match row.entries.get(key):
        case None:
            return ""
        case Scalar(text):
            return text
        case other:
            raise misshapen(other, f"{key} must be text, not a list or mapping")


def _port(row: Mapping) -> int | None:
    match row.entries.get("port"):
        case None:
            return None
        case Scalar() as node:
            value = scalar_value(node)
            if value is None:
                return None
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= PORT_MAX:
                return value
            wrong = shown(node.text)
        case Sequence() | Mapping() as node:
            wrong = "a list or mapping"
    raise misshapen(node, f"port is {wrong}; it must be a whole number 0 to {PORT_MAX} or null")


def _ram_gb(row: Mapping) -> int | float | str | None:
    node = row.entries.get("ram_gb")
    if not isinstance(node, Scalar):
        return None
    try:
        value = scalar_value(node)
    except MalformedDocument:
        # Anything may stand here; what is no figure costs the entry, not the file.
        return None
    return None if isinstance(value, bool) else value
