"""Who may ask what of a host: tokens, their scopes and tenants, and how much each may ask."""

from cuttlebone.access.callers import LOCAL, Caller, Scope
from cuttlebone.access.door import Door
from cuttlebone.access.quotas import Quotas
from cuttlebone.access.tokens import Token, TokenFile

__all__ = ["LOCAL", "Caller", "Door", "Quotas", "Scope", "Token", "TokenFile"]
