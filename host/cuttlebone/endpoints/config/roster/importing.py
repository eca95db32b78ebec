"""Endpoint specs from the entries of a roster; whatever is not taken is listed with its reason."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from cuttlebone.endpoints.config.roster.figures import (
    BACKEND_WORDS,
    FIGURE_GB_MAX,
    flavour_of,
    guessed_latency,
    weights_bytes,
)
from cuttlebone.endpoints.config.roster.overlay import Overlay
from cuttlebone.endpoints.config.roster.refusals import RosterFault, RosterRefused
from cuttlebone.endpoints.config.roster.shape import Entry, read_roster
from cuttlebone.endpoints.config.spec.refusals import InvalidConfig
from cuttlebone.endpoints.config.spec.rules import MODEL_BYTES_MAX, ROLE_BYTES_MAX, validate
from cuttlebone.endpoints.config.spec.tokens import PLAIN_CHARACTERS, is_plain_token
from cuttlebone.endpoints.config.spec.types import (
    Flavour,
    InferenceSpec,
    MemoryBudget,
    ServeArguments,
)
from cuttlebone.text.json_values import shown

_AliasKey: TypeAlias = tuple[Flavour, int | None, str]
"""Server, port and weights. No port is a value of its own, other than the usual port spelt out."""


class SkipReason(StrEnum):
    """Why an entry became no spec."""

    ID = "id"
    BACKEND = "backend"
    ALIAS = "alias"
    RAM_GB = "ram_gb"
    SPEC = "spec"


@dataclass(frozen=True, slots=True)
class Imported:
    """An entry that became a spec, with what the spec has no place for."""

    spec: InferenceSpec
    repo: str
    status: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry that became none. `alias_of` is the id of the entry that stands for it."""

    id: str
    reason: SkipReason
    message: str
    alias_of: str | None = None


@dataclass(frozen=True, slots=True)
class RosterImport:
    """All entries of a roster, each in one of the two lists, both in file order."""

    imported: tuple[Imported, ...]
    skipped: tuple[Skipped, ...]

    def find(self, role: str) -> Imported | None:
        """Give the first imported entry of that role: a roster may repeat an id."""
        return next((entry for entry in self.imported if entry.spec.role == role), None)

    def refuse_repeated_roles(self) -> None:
        """Raise RosterRefused if two imported entries have one id: a host serves each role once."""
        counted = Counter(entry.spec.role for entry in self.imported)
        for role, count in counted.items():
            if count > 1:
                message = (
                    f"the id {shown(role)} is that of {count} imported entries, and a host serves "
                    "each role once; give each entry an id of its own"
                )
                raise RosterRefused(RosterFault.REPEATED_ROLE, message)


def import_roster(given: str | bytes, overlay: Overlay | None = None) -> RosterImport:
    """Turn a roster, its text or the bytes of its file, into specs.

    Raises RosterRefused if the file as a whole cannot be read.
    """
    said = Overlay() if overlay is None else overlay
    imported: list[Imported] = []
    skipped: list[Skipped] = []
    taken: dict[_AliasKey, str] = {}
    for entry in read_roster(given):
        match _import_entry(entry, said, taken):
            case Imported() as row:
                taken[_alias_key(row.spec.runtime, entry)] = entry.id
                imported.append(row)
            case Skipped() as row:
                skipped.append(row)
    return RosterImport(tuple(imported), tuple(skipped))


def _import_entry(entry: Entry, said: Overlay, taken: dict[_AliasKey, str]) -> Imported | Skipped:
    """Judge one entry. `taken` holds imported entries only, so a skipped one is never a target."""
    if not is_plain_token(entry.id, ROLE_BYTES_MAX):
        rule = f"it must have 1 to {ROLE_BYTES_MAX} bytes, {PLAIN_CHARACTERS}"
        return Skipped(entry.id, SkipReason.ID, f"the id {shown(entry.id)} names no role: {rule}")
    flavour = flavour_of(entry.backend)
    if flavour is None:
        known = f"the first word must be one of {', '.join(BACKEND_WORDS)}"
        message = f"there is no adapter for the backend {shown(entry.backend)}: {known}"
        return Skipped(entry.id, SkipReason.BACKEND, message)
    if (first := taken.get(_alias_key(flavour, entry))) is not None:
        message = f"another name for {first}: same server, port and weights"
        return Skipped(entry.id, SkipReason.ALIAS, message, alias_of=first)
    weights = weights_bytes(entry.ram_gb)
    if weights is None:
        rule = f"give gigabytes, 0 to {FIGURE_GB_MAX}, such as 9.7 or ~10"
        message = f"ram_gb is {shown(entry.ram_gb)}, missing or no figure: {rule}"
        return Skipped(entry.id, SkipReason.RAM_GB, message)
    spec = _spec(entry, flavour, weights, said)
    try:
        validate(spec)
    except InvalidConfig as refusal:
        return Skipped(entry.id, SkipReason.SPEC, f"not a valid spec: {refusal}")
    return Imported(spec, entry.repo, entry.status)


def _alias_key(flavour: Flavour, entry: Entry) -> _AliasKey:
    return flavour, entry.port, entry.repo


def _spec(entry: Entry, flavour: Flavour, weights: int, said: Overlay) -> InferenceSpec:
    guess = guessed_latency(entry.id, entry.role)
    return InferenceSpec(
        role=entry.id,
        model=entry.name if is_plain_token(entry.name, MODEL_BYTES_MAX) else None,
        runtime=flavour,
        serve=ServeArguments(port=entry.port),
        memory=MemoryBudget(weights_bytes=weights, kv_budget_bytes=0),
        excludes=said.excludes.get(entry.id, ()),
        latency_class=said.latency_class.get(entry.id, guess),
        sticky=said.sticky.get(entry.id, True),
    )
