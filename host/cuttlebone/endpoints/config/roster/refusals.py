"""Why a whole roster, or its overlay, is refused."""

from enum import StrEnum

from cuttlebone.errors import OperatorError


class RosterFault(StrEnum):
    """The machine's word for what is wrong with the file."""

    PARSE = "parse"
    TOO_LARGE = "too_large"
    TOO_MANY_ENTRIES = "too_many_entries"
    OVERLAY = "overlay"
    REPEATED_ROLE = "repeated_role"
    """Found by who wants to serve the roster, not by the import: that takes each entry as it comes."""


class RosterRefused(OperatorError):
    """A roster or overlay of which nothing can be taken."""

    def __init__(self, fault: RosterFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault
