"""The file of tokens: secrets that are shown once, and a file that only its owner can read."""

import hashlib
import stat
from pathlib import Path

import pytest

from cuttlebone.access import TokenFile, TokenScope
from cuttlebone.access.tokens import FILE_BYTES_MAX, SECRET_BYTES, TOKENS_MAX
from cuttlebone.errors import OperatorError

READ = frozenset({TokenScope.READ})


@pytest.fixture
def file(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "state")


def add(file: TokenFile, name: str = "agent") -> str:
    return file.add(name, tenant="local", scopes=READ)


def test_a_token_is_found_by_its_secret_and_by_nothing_near_it(file: TokenFile) -> None:
    secret = add(file)

    found = file.find(secret)
    assert found is not None
    assert (found.name, found.tenant, found.scopes) == ("agent", "local", READ)
    assert [file.find(near) for near in (secret[:-1], secret + " ", secret.upper(), "")] == [
        None
    ] * 4


def test_secrets_are_long_and_never_the_same(file: TokenFile) -> None:
    secrets = {add(file, f"n{number}") for number in range(50)}

    assert len(secrets) == 50
    assert min(map(len, secrets)) >= SECRET_BYTES * 8 / 6


def test_only_the_digest_of_a_token_is_kept(file: TokenFile) -> None:
    secret = add(file)

    kept = file.path.read_text()
    assert secret not in kept
    assert secret.removeprefix("cuttlebone_") not in kept
    assert hashlib.sha256(secret.encode()).hexdigest() in kept


def test_only_the_owner_can_read_the_file(file: TokenFile) -> None:
    add(file)

    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_a_reader_sees_what_another_process_changes(file: TokenFile) -> None:
    reader = TokenFile(file.path.parent)
    assert reader.tokens() is None

    secret = add(file)
    assert reader.find(secret) is not None

    file.revoke("agent")
    assert reader.find(secret) is None
    assert reader.tokens() == ()


def test_revoking_the_last_token_leaves_none_and_not_everybody(file: TokenFile) -> None:
    add(file)

    assert file.revoke("agent") == 0
    assert file.tokens() == ()


def test_a_name_is_taken_only_once(file: TokenFile) -> None:
    add(file)

    with pytest.raises(OperatorError, match="there is a token agent already"):
        add(file)


def test_a_token_that_is_not_there_cannot_be_revoked(file: TokenFile) -> None:
    with pytest.raises(OperatorError, match=r"there is no token a\\x1b"):
        file.revoke("a\x1b")


@pytest.mark.parametrize("name", ["", "-x", "a b", "ä", "x" * 65, "a\n", "../x"])
def test_a_name_that_is_none_is_refused(file: TokenFile, name: str) -> None:
    with pytest.raises(OperatorError, match="the name of a token has 1 to 64"):
        add(file, name)
    with pytest.raises(OperatorError, match="the tenant of a token has 1 to 64"):
        file.add("fine", tenant=name, scopes=READ)


def test_there_are_at_most_so_many_tokens(file: TokenFile) -> None:
    add(file)
    one = file.path.read_text()
    first, last = one.index("{", 1), one.rindex("}", 0, -2) + 1
    entry = one[first:last]
    many = ",".join(entry.replace('"agent"', f'"n{n}"') for n in range(TOKENS_MAX))
    file.path.write_text(f"{one[:first]}{many}{one[last:]}")

    with pytest.raises(OperatorError, match=f"there are {TOKENS_MAX} tokens already"):
        add(file, "one-more")


def test_a_file_that_others_can_read_is_not_believed(file: TokenFile) -> None:
    secret = add(file)
    file.path.chmod(0o640)

    with pytest.raises(OperatorError, match="chmod 600"):
        file.find(secret)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": 2}', '{"tokens": [{"name": "a"}]}', "\0" * 100]
)
def test_a_damaged_file_lets_nobody_in_and_is_kept(file: TokenFile, content: str) -> None:
    secret = add(file)
    file.path.write_text(content)

    with pytest.raises(OperatorError, match="it is damaged"):
        file.find(secret)
    with pytest.raises(OperatorError, match="it is damaged"):
        add(file, "other")
    assert file.path.read_text() == content


def test_a_file_that_is_too_long_is_not_read(file: TokenFile) -> None:
    secret = add(file)
    file.path.write_text(" " * FILE_BYTES_MAX + file.path.read_text())

    with pytest.raises(OperatorError, match="it has more than"):
        file.find(secret)


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")

    with pytest.raises(OperatorError, match="cannot be used"):
        add(TokenFile(tmp_path / "state"))
