"""The authenticator of a host: from what a request shows to the caller, or a refusal."""

from cuttlebone.access.callers import LOCAL, Caller, TokenScope
from cuttlebone.access.credentials import Credential
from cuttlebone.access.tokens import TokenFile
from cuttlebone.errors import CallerError, ProblemCode


class Authenticator:
    """Lets callers in. Immutable but for what the file of tokens says; any thread may ask."""

    def __init__(self, tokens: TokenFile | None = None, *, local: bool = True) -> None:
        """`local`: only this machine can reach the host, so without tokens everybody is let in."""
        self._tokens = tokens
        self._local = local

    def caller(self, credential: Credential) -> Caller:
        """Return who asks; raise CallerError `unauthenticated`, or OperatorError."""
        tokens = None if self._tokens is None else self._tokens.tokens()
        if self._tokens is None or tokens is None:
            if self._local:
                return LOCAL
            raise _unknown("this host has no tokens any more, so it serves nobody")
        if credential.token is None:
            raise _unknown(
                "this host asks for a token; send it as `Authorization: Bearer …` "
                "(its operator makes one with `cuttlebone token add`)"
            )
        token = self._tokens.find(credential.token)
        if token is None:
            raise _unknown(f"the token in {credential.source} is none of this host, or was revoked")
        return token.caller


def require(caller: Caller, scope: TokenScope) -> None:
    """Raise CallerError `missing_scope` for a caller who may not do that."""
    if scope not in caller.scopes:
        has = ", ".join(f"`{one}`" for one in TokenScope if one in caller.scopes) or "none"
        raise CallerError(
            ProblemCode.MISSING_SCOPE,
            f"this takes a token with the scope `{scope}`; the token {caller.name} has {has}",
        )


def _unknown(reason: str) -> CallerError:
    return CallerError(ProblemCode.UNAUTHENTICATED, reason)
