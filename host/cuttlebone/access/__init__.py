"""Who may ask what of a host: tokens, their scopes and tenants, and how much each may ask."""

from cuttlebone.access.authenticator import Authenticator
from cuttlebone.access.callers import LOCAL, Caller, TokenScope
from cuttlebone.access.credentials import Credential
from cuttlebone.access.quotas import Quotas
from cuttlebone.access.tokens import Token, TokenFile

__all__ = [
    "LOCAL",
    "Authenticator",
    "Caller",
    "Credential",
    "Quotas",
    "Token",
    "TokenFile",
    "TokenScope",
]
