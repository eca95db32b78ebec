"""`cuttlebone config`, and every setting through flag, environment and file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.conftest import Cli
from cuttlebone.settings import Settings
from cuttlebone_abi import Json


@dataclass(frozen=True, slots=True)
class Example:
    """One setting as it is stated: by flags, and as YAML or in a variable."""

    flags: Sequence[str]
    value: Json


EXAMPLES = {
    "host": Example(("--host", "127.0.0.2"), "127.0.0.2"),
    "socket": Example(("--socket", "/run/c.sock"), "/run/c.sock"),
    "names": Example(("--name", "a.org", "--name", "b.org"), ["a.org", "b.org"]),
    "port": Example(("--port", "0"), 0),
    "specs": Example(("--specs", "/specs"), "/specs"),
    "models": Example(
        ("--model", "a=/m.gguf", "-m", "b=/n.gguf"), {"a": "/m.gguf", "b": "/n.gguf"}
    ),
    "models_memory_bytes": Example(("--models-memory-bytes", "5"), 5),
    "cache": Example(("--cache", "/c"), "/c"),
    "state": Example(("--state", "/s"), "/s"),
    "isolation": Example(("--isolation", "require"), "require"),
    "jobs_running_max": Example(("--jobs-running-max", "5"), 5),
    "jobs_waiting_max": Example(("--jobs-waiting-max", "5"), 5),
    "tenant_jobs_waiting_max": Example(("--tenant-jobs-waiting-max", "5"), 5),
    "tenant_jobs_running_max": Example(("--tenant-jobs-running-max", "5"), 5),
    "tenant_stored_bytes_max": Example(("--tenant-stored-bytes-max", "5"), 5),
    "token_requests_per_s_max": Example(("--token-requests-per-s-max", "5"), 5),
    "token_streams_max": Example(("--token-streams-max", "5"), 5),
    "jobs_kept_max": Example(("--jobs-kept-max", "5"), 5),
    "jobs_kept_s": Example(("--jobs-kept-s", "5"), 5),
    "attempts_max": Example(("--attempts-max", "5"), 5),
    "journals_open_max": Example(("--journals-open-max", "5"), 5),
    "journal_bytes_max": Example(("--journal-bytes-max", "5"), 5),
    "callback_hosts": Example(("--callback-host", "a.org:81"), ["a.org:81"]),
    "callback_secret_file": Example(("--callback-secret-file", "/f"), "/f"),
    "callback_delays_s": Example(
        ("--callback-delay-s", "0.5", "--callback-delay-s", "2"), [0.5, 2]
    ),
    "grace_s": Example(("--grace-s", "0.5"), 0.5),
    "body_bytes_max": Example(("--body-bytes-max", "5"), 5),
    "batch_body_bytes_max": Example(("--batch-body-bytes-max", "5"), 5),
    "connections_max": Example(("--connections-max", "5"), 5),
    "stall_timeout_s": Example(("--stall-timeout-s", "0.5"), 0.5),
    "context_tokens_max": Example(("--context-tokens-max", "5"), 5),
    "kv_memory_bytes": Example(("--kv-memory-bytes", "5"), 5),
    "generations_max": Example(("--generations-max", "5"), 5),
    "kv_layout": Example(("--kv-layout", "pool"), "pool"),
    "threads": Example(("--threads", "5"), 5),
    "limits_max": Example(("--limit-max", "time_ms=5"), {"time_ms": 5}),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(cli: Cli, *arguments: str) -> Json:
    ended = cli("config", "show", *arguments, "--json")
    assert ended.status == 0, ended.err
    return ended.result["settings"]


def told(settings: Json, name: str) -> tuple[Json, set[str]]:
    """A setting with its sources, put together where its entries are shown one by one."""
    if name in settings:
        return settings[name]["value"], {settings[name]["source"]}
    entries = {
        key.partition(".")[2]: row
        for key, row in settings.items()
        if key.startswith(f"{name}.") and row["source"] != "default"
    }
    values = {key: row["value"] for key, row in entries.items()}
    return values, {row["source"] for row in entries.values()}


def test_there_is_an_example_of_every_setting() -> None:
    assert set(EXAMPLES) == set(Settings.model_fields)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_setting_can_be_a_flag(cli: Cli, name: str) -> None:
    example = EXAMPLES[name]
    assert told(shown(cli, *example.flags), name) == (example.value, {example.flags[0]})


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_setting_can_stand_in_the_environment(
    cli: Cli, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = EXAMPLES[name].value
    variable = f"CUTTLEBONE_{name.upper()}"
    monkeypatch.setenv(variable, value if isinstance(value, str) else json.dumps(value))
    assert told(shown(cli), name) == (value, {variable})


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_setting_can_stand_in_a_file(cli: Cli, name: str, folder: Path) -> None:
    value = EXAMPLES[name].value
    (folder / "mine.yaml").write_text(f"{name}: {json.dumps(value)}\n")
    assert told(shown(cli, "--config", "mine.yaml"), name) == (value, {"mine.yaml:1"})


def test_a_flag_goes_before_a_variable_and_that_before_the_file(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "cuttlebone.yaml").write_text("port: 1\nthreads: 1\ngrace_s: 1\n")
    monkeypatch.setenv("CUTTLEBONE_THREADS", "2")
    monkeypatch.setenv("CUTTLEBONE_GRACE_S", "2")
    settings = shown(cli, "--grace-s", "3")
    rows = [settings[name] for name in ("port", "threads", "grace_s", "host")]
    assert [(row["value"], row["source"]) for row in rows] == [
        (1, "cuttlebone.yaml:1"),
        (2, "CUTTLEBONE_THREADS"),
        (3, "--grace-s"),
        ("127.0.0.1", "default"),
    ]


def test_a_file_is_named_by_flag_or_variable_before_the_one_of_the_folder(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("cuttlebone.yaml", "variable.yaml", "flag.yaml"), start=1):
        (folder / name).write_text(f"port: {number}\n")
    assert shown(cli)["port"]["value"] == 1
    monkeypatch.setenv("CUTTLEBONE_CONFIG", "variable.yaml")
    assert shown(cli)["port"]["value"] == 2
    assert shown(cli, "--config", "flag.yaml")["port"]["value"] == 3


def test_commands_that_serve_nobody_leave_the_file_of_the_folder_alone(
    cli: Cli, folder: Path, specs: Path
) -> None:
    (folder / "cuttlebone.yaml").write_text("limits_max: {steps: 1}\n")
    job = (
        "run",
        str(specs / "complete.yaml"),
        "-i",
        '{"word": ""}',
        "--isolation",
        "thread",
        "--json",
    )
    assert cli(*job).status == 0
    assert cli(*job, "--config", "cuttlebone.yaml").result["error"]["code"] == "limit_exceeded"


def test_people_see_each_setting_on_a_line(cli: Cli) -> None:
    lines = cli("config", "show", "--threads", "3").out.splitlines()
    assert next(line for line in lines if line.startswith("threads")).split() == [
        "threads", "3", "--threads",
    ]  # fmt: skip
    names = {line.split()[0].partition(".")[0] for line in lines}
    assert names == set(Settings.model_fields)


def test_a_bad_file_ends_what_would_use_it(cli: Cli, folder: Path) -> None:
    (folder / "cuttlebone.yaml").write_text("prot: 1\n")
    for command in (("config", "show"), ("doctor",), ("serve",), ("token", "list")):
        ended = cli(*command)
        assert (ended.status, ended.out) == (2, "")
        assert "cuttlebone.yaml:1: unknown key `prot`; did you mean `port`?" in ended.err


def test_init_writes_a_file_and_leaves_one_alone(cli: Cli, folder: Path) -> None:
    assert cli("config", "init").out == "made   cuttlebone.yaml\n"
    assert {row["source"] for row in shown(cli).values()} == {"default"}
    (folder / "cuttlebone.yaml").write_text("port: 1\n")
    again = cli("config", "init", "--json")
    assert again.status == 2
    assert "stays as it is" in again.complaint["message"]
    assert (folder / "cuttlebone.yaml").read_text() == "port: 1\n"
    assert cli("config", "init", "other.yaml", "--json").result == {"file": "other.yaml"}
    assert cli("config", "init", "none/other.yaml").status == 2
