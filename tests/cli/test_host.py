"""`serve`, and the commands that talk to it, over a real socket."""

import json
import signal
import socket
from pathlib import Path

import httpx
import pytest

from cli.blocks import HOSTILE
from cli.conftest import Cli, Terminal
from cli.terminals import BOUND_S, run_process, started
from cuttlebone.client import Client, Refused

WORD = '{"word": "a"}'

pytestmark = pytest.mark.e2e


def test_a_host_says_where_it_answers_and_what_it_serves(tmp_path: Path) -> None:
    (tmp_path / "faulty.yaml").write_text("name: a\n")
    with started(
        "serve", "--json", "--port", "0", "--no-state", "--specs", str(tmp_path)
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        with Client(ready["url"]) as client:
            assert client.specs().specs == []
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND_S) == 0
    assert ready["specs"] == []
    assert ready["models"] == {}
    assert "faulty.yaml" in ready["faults"][0]


def test_a_person_is_told_on_stderr_and_ends_it_with_ctrl_c(
    specs: Path, terminal: Terminal
) -> None:
    on_terminal = terminal("serve", "--port", "0", "--no-state", "--specs", str(specs))
    on_terminal.read_until("Ctrl-C stops it")
    on_terminal.process.send_signal(signal.SIGINT)
    ended = on_terminal.end()
    assert (ended.status, ended.out) == (0, "")
    assert "http://127.0.0.1:" in ended.err
    assert "complete, fail, spin" in ended.err


def test_jobs_survive_in_the_state_folder(cli: Cli, specs: Path, tmp_path: Path) -> None:
    arguments = ("serve", "--json", "--port", "0", "--specs", str(specs), "--state", str(tmp_path))
    job_id = ""
    for _ in range(2):
        with started(*arguments) as process:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            job_id = job_id or cli("submit", "complete", "-i", WORD, "--url", url).out.strip()
            with Client(url) as client:
                assert client.wait(job_id).spec == "complete"
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND_S) == 0


def test_a_busy_port_is_said_and_nothing_starts(specs: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = run_process("serve", "--port", port, "--no-state", "--specs", str(specs), "--json")
    assert (ended.status, ended.out) == (2, "")
    assert f"127.0.0.1:{port} is in use" in ended.complaint["message"]


def test_a_model_file_that_is_missing_is_said_and_nothing_starts(
    specs: Path, tmp_path: Path
) -> None:
    ended = run_process(
        "serve", "--port", "0", "--no-state", "--specs", str(specs),
        "--model", f"main={tmp_path}", "--json", environment={"CUTTLEBONE_PROT": "1"},
    )  # fmt: skip
    assert (ended.status, ended.out) == (2, "")
    assert f"{tmp_path} is no file" in ended.complaint["message"]
    assert "CUTTLEBONE_PROT is no setting; did you mean CUTTLEBONE_PORT?" in ended.err


def test_a_folder_of_specs_that_is_missing_is_said(tmp_path: Path) -> None:
    ended = run_process("serve", "--port", "0", "--no-state", "--specs", str(tmp_path / "none"))
    assert ended.status == 2
    assert "error: the specs folder" in ended.err
    assert "Traceback" not in ended.err


def test_a_submission_writes_the_id_of_its_job(cli: Cli, host: str) -> None:
    ended = cli("submit", "complete", "--input", WORD, "--url", host)
    assert ended.status == 0
    with Client(host) as client:
        assert client.wait(ended.out.strip()).spec == "complete"


def test_a_submission_with_json_writes_the_whole_job(cli: Cli, host: str) -> None:
    ended = cli(
        "submit", "complete", "-i", WORD, "--url", host, "--json", "--label", "who=me",
        "--limit", "time_ms=5000",
    )  # fmt: skip
    assert ended.result["labels"] == {"who": "me"}
    assert ended.result["spec"] == "complete"


@pytest.mark.parametrize(("spec", "status"), [("complete", 0), ("fail", 1)])
def test_waiting_ends_with_the_envelope_and_its_status(
    cli: Cli, host: str, spec: str, status: int
) -> None:
    ended = cli("submit", spec, "--input", WORD, "--url", host, "--wait")
    assert ended.status == status
    assert set(ended.result) == {"status", "result" if status == 0 else "error", "usage"}


def test_ctrl_c_ends_the_waiting_but_not_the_job(host: str, terminal: Terminal) -> None:
    on_terminal = terminal("submit", "spin", "-i", WORD, "--wait", "--url", host)
    on_terminal.read_until("spinning")
    on_terminal.process.send_signal(signal.SIGINT)
    ended = on_terminal.end()
    assert (ended.status, ended.out) == (130, "")
    job_id = ended.err.split("cuttlebone job cancel ")[1].split("`")[0]
    with Client(host) as client:
        assert not client.job(job_id).status.final
        client.cancel(job_id)


def test_a_cancelled_job_is_shown_so_and_status_3_where_it_was_waited_for(
    cli: Cli, host: str, terminal: Terminal
) -> None:
    waiting = terminal("submit", "spin", "-i", WORD, "--wait", "--url", host)
    waiting.read_until("spinning")
    listed = cli("jobs", "--status", "running", "--spec", "spin", "--url", host, "--json").result
    job_id = listed["jobs"][0]["id"]
    assert cli("job", "cancel", job_id, "--url", host).status == 0
    ended = waiting.end()
    assert ended.status == 3
    assert ended.result["status"] == "cancelled"
    assert cli("job", "cancel", job_id, "--url", host).out == f"{job_id} is cancelled\n"
    assert cli("job", "show", job_id, "--url", host).result["status"] == "cancelled"


def test_events_are_lines_of_json_for_programs(cli: Cli, host: str) -> None:
    job_id = cli("submit", "complete", "-i", WORD, "--url", host).out.strip()
    ended = cli("job", "events", job_id, "--url", host, "--json")
    events = [json.loads(line) for line in ended.out.splitlines()]
    numbered = [event for event in events if event["number"] is not None]
    assert [event["number"] for event in numbered] == list(range(1, len(numbered) + 1))
    assert numbered[-1]["kind"] == "result"
    assert {"saying": HOSTILE} in [event["data"] for event in numbered]


def test_events_are_shown_to_people_without_control_characters(cli: Cli, host: str) -> None:
    job_id = cli("submit", "complete", "-i", WORD, "--url", host).out.strip()
    ended = cli("job", "events", job_id, "--url", host)
    assert "→ saying \\x1b[2J\\x9b31m[bold red]boo[/] \\u202edrow\n" in ended.out
    assert ended.out.endswith("● completed\n")
    assert ended.out.count("completed") == 1


def test_events_of_a_job_that_failed_end_with_the_reason(cli: Cli, host: str) -> None:
    job_id = cli("submit", "fail", "-i", WORD, "--url", host).out.strip()
    ended = cli("job", "events", job_id, "--url", host)
    assert ended.out.splitlines()[-1].startswith("● failed, no_luck: \\x1b[2J")


def test_a_listing_shows_what_is_asked_for(cli: Cli, host: str) -> None:
    for _ in range(2):
        cli(
            "submit", "complete", "-i", WORD, "--url", host, "--wait", "--label", "kind=[red]listed"
        )
    wanted = ("jobs", "--label", "kind=[red]listed", "--url", host)
    assert len(cli(*wanted, "--json").result["jobs"]) == 2
    assert cli(*wanted).out.count("complete ") == 2
    first = cli(*wanted, "--limit", "1")
    assert "there are more: --cursor " in first.err


def test_the_host_may_stand_in_the_environment(host: str) -> None:
    assert run_process("jobs", environment={"CUTTLEBONE_URL": host}).status == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("submit", "complete", "-i", '{"word": 1}'), "schema_validation_failed"),
        (("submit", "nothing", "-i", "{}"), "unknown_spec"),
        (("submit", "complete", "-i", WORD, "--limit", "tim_ms=1"), "invalid_body"),
        (("job", "show", "no body?"), "unknown_job"),
        (("job", "cancel", "nobody"), "unknown_job"),
        (("job", "events", "nobody"), "unknown_job"),
    ],
)
def test_a_refusal_of_the_host_is_status_2_with_its_code(
    cli: Cli, host: str, arguments: tuple[str, ...], code: str
) -> None:
    ended = cli(*arguments, "--url", host, "--json")
    assert (ended.status, ended.out) == (2, "")
    assert ended.complaint["code"] == code


def test_a_refusal_names_the_place_for_people_too(cli: Cli, host: str) -> None:
    ended = cli("submit", "complete", "-i", '{"word": 1}', "--url", host)
    assert ended.err.startswith("error: ")
    assert "\n  /input/word: " in ended.err


def test_where_no_host_answers_the_status_is_4(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    ended = cli("jobs", "--url", f"http://127.0.0.1:{port}", "--json")
    assert (ended.status, ended.out) == (4, "")
    assert ended.complaint["code"] == "unreachable"


def test_a_submission_can_say_everything_about_its_job(cli: Cli, host: str) -> None:
    ended = cli(
        "submit", "complete", "-i", WORD, "--url", host, "--wait", "--id", "my-own-job",
        "--interactive", "--ttl-s", "60", "--expires-in-s", "30", "--record-full",
    )  # fmt: skip
    assert ended.status == 0
    job = cli("job", "show", "my-own-job", "--url", host).result
    assert (job["priority"], job["ttl_s"], job["record"]) == ("interactive", 60, "full")
    assert (job["callback_url"], job["deliveries"]) == (None, [])


def test_a_callback_that_the_operator_has_not_listed_is_refused(cli: Cli, host: str) -> None:
    ended = cli("submit", "complete", "-i", WORD, "--callback", "https://evil.test/", "--url", host)
    assert ended.status == 2
    assert "/callback_url: evil.test:443 is not among the hosts" in ended.err


def test_a_job_that_is_forgotten_is_gone(cli: Cli, host: str) -> None:
    cli("submit", "complete", "-i", WORD, "--url", host, "--wait", "--id", "to-forget")
    assert cli("job", "forget", "to-forget", "--url", host).out == "to-forget is forgotten\n"
    assert (
        cli("job", "show", "to-forget", "--url", host, "--json").complaint["code"] == "unknown_job"
    )


def test_a_job_is_awaited_and_its_envelope_written(cli: Cli, host: str) -> None:
    for spec, status in (("complete", 0), ("fail", 1)):
        job_id = cli("submit", spec, "-i", WORD, "--url", host).out.strip()
        waited = cli("job", "wait", job_id[:12], "--url", host)
        assert (waited.status, waited.out.split()[0]) == (status, job_id)
        assert cli("job", "wait", job_id, "--url", host, "--json").result["id"] == job_id
        ended = cli("job", "result", "last", "--url", host)
        assert (ended.status, set(ended.result)) == (
            status, {"status", "result" if status == 0 else "error", "usage"},
        )  # fmt: skip


def test_a_result_that_is_not_there_yet_is_refused(cli: Cli, host: str) -> None:
    job_id = cli("submit", "spin", "-i", WORD, "--url", host).out.strip()
    refused = cli("job", "result", job_id, "--url", host, "--json")
    cli("job", "cancel", job_id, "--url", host)
    assert (refused.status, refused.complaint["code"]) == (2, "not_final")


def test_specs_and_models_are_listed(cli: Cli, host: str) -> None:
    listed = cli("specs", "--url", host)
    assert [line.split()[0] for line in listed.out.splitlines()] == [
        "spec", "complete", "fail", "spin",
    ]  # fmt: skip
    assert "A job that does complete." in listed.out
    assert len(cli("specs", "--url", host, "--json").result["specs"]) == 3
    assert cli("models", "--url", host, "--json").result == {"models": []}
    assert cli("models", "--url", host).out.split()[0] == "role"


def test_an_address_may_leave_out_its_scheme(cli: Cli, host: str) -> None:
    assert cli("specs", "--url", host.removeprefix("http://")).status == 0


def test_a_block_is_brought_listed_and_taken_back(cli: Cli, host: str) -> None:
    example = Path(__file__).parents[2] / "guest-examples" / "c" / "grep" / "grep.wasm"
    digest = cli("block", "upload", str(example), "--url", host).out.strip()
    listed = cli("block", "list", "--url", host, "--json").result["blocks"]
    lines = cli("block", "list", "--url", host).out.splitlines()

    assert {"digest": digest, "uploaded": True, "specs": []}.items() <= next(
        one for one in listed if one["digest"] == digest
    ).items()
    assert [line.split()[2:] for line in lines if line.startswith(digest)] == [["upload"]]
    assert cli("block", "forget", digest, "--url", host).out == f"{digest} is forgotten\n"
    again = cli("block", "forget", digest, "--url", host, "--json")
    assert (again.status, again.complaint["code"]) == (2, "unknown_block")


def test_a_file_of_a_spec_is_not_taken_back(cli: Cli, host: str) -> None:
    block = cli("block", "list", "--url", host, "--json").result["blocks"][0]
    refused = cli("block", "forget", block["digest"], "--url", host, "--json")
    assert (refused.status, refused.complaint["code"]) == (2, "block_in_use")


def test_what_a_host_would_refuse_is_no_upload(cli: Cli, host: str, tmp_path: Path) -> None:
    (tmp_path / "text.wasm").write_text("no module")
    refused = cli("block", "upload", str(tmp_path / "text.wasm"), "--url", host, "--json")
    assert (refused.status, refused.complaint["code"]) == (2, "block_refused")
    missing = cli("block", "upload", str(tmp_path / "none.wasm"), "--url", host, "--json")
    assert (missing.status, missing.complaint["code"]) == (2, "operator")


def test_a_host_serves_as_many_connections_as_it_is_set_to(specs: Path) -> None:
    bound = {"CUTTLEBONE_CONNECTIONS_MAX": "1", "CUTTLEBONE_STALL_TIMEOUT_S": "3"}
    arguments = ("serve", "--json", "--port", "0", "--no-state", "--specs", str(specs))
    with started(*arguments, environment=bound) as process:
        assert process.stdout is not None
        url = httpx.URL(json.loads(process.stdout.readline())["url"])
        address = (url.host, url.port or 0)
        with socket.create_connection(address, timeout=BOUND_S) as first:
            first.sendall(
                b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"
            )
            with Client(str(url)) as client, pytest.raises(Refused) as refused:
                client.models()
            answers = first.makefile("rb").read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND_S) == 0
    assert (refused.value.code, refused.value.retry_after_s) == ("too_many_connections", 5)
    assert b"HTTP/1.1 408 " in answers
