"""Who asks: a name for the log, the tenant whose jobs are seen, and what may be done."""

from dataclasses import dataclass
from enum import StrEnum


class TokenScope(StrEnum):
    """What a caller may do."""

    SUBMIT = "submit"
    """Submit jobs."""
    READ = "read"
    """See jobs, their events and results, and what the host serves."""
    CANCEL = "cancel"
    """End and forget jobs."""
    ADMIN = "admin"
    """Upload blocks, for all tenants, and name jobs of other tenants."""
    METRICS = "metrics"
    """See the numbers of the host, which are those of all tenants."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks."""

    name: str
    """Of the token."""
    tenant: str
    scopes: frozenset[TokenScope]
    bounded: bool = True
    """Whether quotas hold for this caller."""


LOCAL = Caller("local", "local", frozenset(TokenScope), bounded=False)
"""Everybody, on a host that only this machine can reach and that has no tokens."""
