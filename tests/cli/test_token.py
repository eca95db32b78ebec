"""`token`, and a host that asks for one, on a socket that only its user can open."""

import json
import signal
import stat
from pathlib import Path

import pytest

from cli.conftest import Cli
from cli.terminals import BOUND_S, run_process, started
from cuttlebone.client import Client, Refused

WORD = {"word": "a"}


def test_a_token_is_written_once_and_listed_without_its_secret(cli: Cli, tmp_path: Path) -> None:
    added = cli("token", "add", "agent", "--state", str(tmp_path))
    listed = cli("token", "list", "--state", str(tmp_path))
    as_json = cli("token", "list", "--state", str(tmp_path), "--json")

    secret = added.out.strip()
    assert (added.status, secret[:11]) == (0, "cuttlebone_")
    assert "only this once" in added.err
    assert "agent" in listed.out
    assert secret not in listed.out + as_json.out
    (token,) = as_json.result["tokens"]
    assert (token["name"], token["tenant"]) == ("agent", "local")
    assert token["scopes"] == ["cancel", "read", "submit"]


def test_a_token_has_the_scopes_and_the_tenant_that_were_asked_for(
    cli: Cli, tmp_path: Path
) -> None:
    made = cli(
        "token", "add", "viewer", "--scope", "read", "--tenant", "lab", "--state", str(tmp_path),
        "--json",
    ).result  # fmt: skip

    assert (made["scopes"], made["tenant"]) == (["read"], "lab")
    assert made["token"].startswith("cuttlebone_")


def test_revoking_the_last_token_says_what_follows(cli: Cli, tmp_path: Path) -> None:
    state = ("--state", str(tmp_path))
    for name in ("a", "b"):
        cli("token", "add", name, *state)

    first, last = (cli("token", "revoke", name, *state) for name in ("a", "b"))

    assert (first.out, first.err) == ("a is revoked\n", "")
    assert "the host serves nobody" in last.err
    assert str(tmp_path / "tokens.json") in last.err


@pytest.mark.parametrize(
    "arguments", [("add", "no good"), ("revoke", "nobody"), ("add", "x", "--scope", "everything")]
)
def test_what_cannot_be_done_is_status_2(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ended = cli("token", *arguments, "--state", str(tmp_path))

    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("error: ")


@pytest.mark.e2e
def test_an_address_that_others_reach_needs_a_token(specs: Path, tmp_path: Path) -> None:
    arguments = ("serve", "--host", "0.0.0.0", "--port", "0", "--specs", str(specs), "--json")
    for state in (("--no-state",), ("--state", str(tmp_path))):
        ended = run_process(*arguments, *state)
        assert (ended.status, ended.out) == (2, "")
        assert "cuttlebone token add NAME" in ended.complaint["message"]


@pytest.mark.e2e
def test_a_host_on_a_socket_serves_whoever_has_a_token_and_logs_no_secret(
    cli: Cli, specs: Path, tmp_path: Path
) -> None:
    state, path = tmp_path / "state", tmp_path / "socket"
    secret = cli("token", "add", "agent", "--state", str(state), "--json").result["token"]
    arguments = ("--socket", str(path), "--state", str(state), "--specs", str(specs), "--json")
    marker = "a-marker-in-an-input"
    with started("serve", *arguments) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert url == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with Client(url, token=secret) as client:
            job = client.wait(client.submit("complete", {"word": marker}).id)
            failed = client.wait(client.submit("fail", {"word": marker}).id)
        with Client(url, token="cuttlebone_wrong") as client, pytest.raises(Refused) as caught:
            client.specs()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=BOUND_S)

    records = [json.loads(line) for line in log.decode().splitlines()]
    assert (job.status, failed.status) == ("completed", "failed")
    assert caught.value.code == "unauthenticated"
    assert {job.id, failed.id} <= {record.get("job") for record in records}
    for hidden in (secret, secret[11:], marker, "cuttlebone_wrong", "no_luck", "\x1b", "boo"):
        assert hidden not in log.decode()
    assert not path.exists()


@pytest.mark.e2e
def test_a_socket_that_is_in_use_is_said_and_one_left_behind_is_replaced(
    specs: Path, tmp_path: Path
) -> None:
    path = tmp_path / "socket"
    arguments = ("serve", "--socket", str(path), "--no-state", "--specs", str(specs), "--json")
    with started(*arguments) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        second = run_process(*arguments)
        process.kill()
        process.wait(BOUND_S)
    assert path.exists()
    with started(*arguments) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["url"] == f"unix:{path}"

    assert second.status == 2
    assert "is in use by another program" in second.complaint["message"]


@pytest.mark.e2e
def test_by_default_jobs_are_kept_in_the_folder_of_the_user(specs: Path, tmp_path: Path) -> None:
    data = {"XDG_DATA_HOME": str(tmp_path), "CUTTLEBONE_PORT": "0"}
    held = run_process("token", "add", "agent", environment=data)
    assert held.status == 0

    # Bound to a port that needs a token: it starts only if it finds the one of that folder.
    ended = run_process(
        "serve", "--host", "192.0.2.1", "--specs", str(specs), "--json", environment=data
    )

    assert (tmp_path / "cuttlebone" / "tokens.json").exists()
    assert "cannot listen on 192.0.2.1" in ended.complaint["message"]
