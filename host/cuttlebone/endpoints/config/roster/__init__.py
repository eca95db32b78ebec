"""A roster, the list of models that somebody keeps by hand, turned into endpoint specs."""

from cuttlebone.endpoints.config.roster.figures import flavour_of, guessed_latency, weights_bytes
from cuttlebone.endpoints.config.roster.importing import (
    Imported,
    RosterImport,
    Skipped,
    SkipReason,
    import_roster,
)
from cuttlebone.endpoints.config.roster.overlay import Overlay, read_overlay
from cuttlebone.endpoints.config.roster.refusals import RosterFault, RosterRefused

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
