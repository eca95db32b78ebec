"""What a check of a document found: errors, warnings and, without errors, the document filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cuttlebone.text.json_values import Json, Path, pointer


class Verdict(StrEnum):
    """The whole check in one word."""

    ACCEPT = "accept"
    ACCEPT_WITH_WARNING = "accept_with_warning"
    ACCEPT_DRAFT = "accept_draft"
    """A run manifest that no repeat run takes yet, because its wheel has no digest."""
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Finding:
    """One place and what is to be said of it. `pointer` is a JSON Pointer (RFC 6901)."""

    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class RuleValue:
    """The value of a run rule and where it came from: a field, `constraints` or `default: …`."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check. `normalised` is there exactly when there are no errors."""

    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    normalised: dict[str, Json] | None = None
    is_draft: bool = False
    rules: Mapping[str, RuleValue] = field(default_factory=dict)
    """Run rules of an intake by name; empty for a manifest or when the shape is broken."""

    @property
    def verdict(self) -> Verdict:
        """Errors weigh more than being a draft, and that more than a warning."""
        if self.errors:
            return Verdict.REJECT
        if self.is_draft:
            return Verdict.ACCEPT_DRAFT
        return Verdict.ACCEPT_WITH_WARNING if self.warnings else Verdict.ACCEPT


def finding(path: Path, message: str) -> Finding:
    """Make a finding of a path: `("budget", "usd")` is `/budget/usd`."""
    return Finding(pointer(path), message)
