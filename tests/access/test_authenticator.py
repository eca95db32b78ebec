"""Who is let in: by what a request shows, wherever it shows it."""

from pathlib import Path

import pytest

from cuttlebone.access import LOCAL, Authenticator, Credential, TokenFile, TokenScope
from cuttlebone.errors import CallerError, ProblemCode

READ = frozenset({TokenScope.READ})
NOTHING = Credential(None, "`Authorization`")


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path)


def test_without_tokens_everybody_on_this_machine_is_let_in(tokens: TokenFile) -> None:
    assert Authenticator().caller(NOTHING) is LOCAL
    assert Authenticator(tokens).caller(NOTHING) is LOCAL


def test_without_tokens_nobody_else_is_let_in(tokens: TokenFile) -> None:
    with pytest.raises(CallerError, match="no tokens any more") as refused:
        Authenticator(tokens, local=False).caller(NOTHING)
    assert refused.value.code is ProblemCode.UNAUTHENTICATED


@pytest.mark.parametrize("source", ["`Authorization`", "the cookie"])
def test_a_token_is_good_wherever_it_comes_from(tokens: TokenFile, source: str) -> None:
    secret = tokens.add("agent", tenant="red", scopes=READ)

    caller = Authenticator(tokens).caller(Credential(secret, source))

    assert (caller.name, caller.tenant, caller.scopes) == ("agent", "red", READ)


def test_a_request_that_shows_nothing_is_told_what_to_send(tokens: TokenFile) -> None:
    tokens.add("agent", tenant="red", scopes=READ)
    with pytest.raises(CallerError, match="send it as `Authorization: Bearer …`"):
        Authenticator(tokens).caller(NOTHING)


@pytest.mark.parametrize("secret", ["", "cuttlebone_nothing"])
def test_a_token_of_nobody_is_refused_with_where_it_stood(tokens: TokenFile, secret: str) -> None:
    tokens.add("agent", tenant="red", scopes=READ)
    with pytest.raises(
        CallerError, match="the token in the cookie is none of this host"
    ) as refused:
        Authenticator(tokens).caller(Credential(secret, "the cookie"))
    assert refused.value.code is ProblemCode.UNAUTHENTICATED


def test_a_credential_does_not_show_its_token() -> None:
    assert "secret" not in repr(Credential("secret", "`Authorization`"))
