"""Where a request shows who sends it: its Authorization header."""

from typing import Final

from starlette.requests import HTTPConnection

from cuttlebone.access import Credential

_SCHEME: Final = "bearer"
_SOURCE: Final = "`Authorization`"


def credential_of(request: HTTPConnection) -> Credential:
    """Return what a request shows to be let in; a header of another scheme shows nothing."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return Credential(secret.strip() if scheme.lower() == _SCHEME else None, _SOURCE)
