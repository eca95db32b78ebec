"""What a request shows to be let in is read from its Authorization header."""

import pytest
from starlette.requests import HTTPConnection

from cuttlebone.api.authorization_header import credential_of


def token_in(*headers: tuple[bytes, bytes]) -> str | None:
    return credential_of(HTTPConnection({"type": "http", "headers": list(headers)})).token


@pytest.mark.parametrize("header", [b"Bearer t0ken", b"bearer t0ken", b"BEARER   t0ken  "])
def test_a_bearer_token_is_shown(header: bytes) -> None:
    assert token_in((b"authorization", header)) == "t0ken"


def test_a_bearer_without_a_token_shows_an_empty_one() -> None:
    assert token_in((b"authorization", b"Bearer")) == ""


@pytest.mark.parametrize("header", [b"", b"Basic t0ken", b"t0ken"])
def test_another_scheme_shows_nothing(header: bytes) -> None:
    assert token_in((b"authorization", header)) is None


def test_no_header_shows_nothing() -> None:
    assert token_in((b"cookie", b"Bearer t0ken")) is None
