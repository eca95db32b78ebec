"""Rosters turned into endpoint specs, under the name that docs/endpoints.md gives it."""

from cuttlebone.endpoints.config.roster import (
    Imported,
    Overlay,
    RosterFault,
    RosterImport,
    RosterRefused,
    Skipped,
    SkipReason,
    flavour_of,
    guessed_latency,
    import_roster,
    read_overlay,
    weights_bytes,
)

__all__ = [
    "Imported",
    "Overlay",
    "RosterFault",
    "RosterImport",
    "RosterRefused",
    "SkipReason",
    "Skipped",
    "flavour_of",
    "guessed_latency",
    "import_roster",
    "read_overlay",
    "weights_bytes",
]
