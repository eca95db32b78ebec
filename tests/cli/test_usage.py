"""What all commands have in common: help, JSON, wrong usage, and a quick start."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Cli
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.settings import Settings
from cuttlebone.text.addresses import DEFAULT_URL

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()

COMMANDS = (
    "demo", "serve", "salvage", "run", "submit", "jobs", "token add", "token list", "token revoke", "job show", "job events", "job cancel",
    "job forget", "job export", "job wait", "job result", "specs", "models", "doctor", "config init", "config show", "replay", "spec check", "bench infer",
    "block new", "block build", "block check", "block test", "block run", "block inspect",
    "block upload", "block list", "block forget", "endpoint check", "endpoint import", "endpoint list", "intake check",
    "manifest check",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_an_output_for_programs(cli: Cli, command: str) -> None:
    ended = cli(*command.split(), "--help")
    assert ended.status == 0
    assert f"Example: cuttlebone {command} " in ended.out
    assert "--json " in ended.out


def test_the_list_of_commands_is_complete(cli: Cli) -> None:
    listed = cli("--help").out
    names = re.findall(r"^│ (\w+) ", listed, re.MULTILINE)
    assert sorted(names) == sorted({command.split()[0] for command in COMMANDS})
    assert cli().out == listed


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_command(command: str) -> None:
    assert f"`{command}" in PAGE


def test_the_page_says_what_each_exit_status_means() -> None:
    assert set(re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)) == {f"{one}" for one in ExitStatus}


def test_the_version_is_that_of_the_package(cli: Cli) -> None:
    assert cli("--version").out == "0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("serv",), "No such command 'serv'. Did you mean 'serve'? (`cuttlebone --help`"),
        (("job",), "Missing command. (`cuttlebone job --help`"),
        (("run", "a.yaml"), "Missing option '--input' / '-i'. (`cuttlebone run --help`"),
        (("jobs", "--nothing"), "No such option: --nothing (`cuttlebone jobs --help`"),
        (("jobs", "--limit", "0"), "`--limit 0`: at least 1 (`cuttlebone jobs --help`"),
        (("jobs", "--limit=1000"), "`--limit 1000`: at most 200 (`cuttlebone jobs --help`"),
        (("jobs", "--status", "asleep"), "`--status asleep`: one of 'queued', 'running', "),
        (("serve", "--port", "65536"), "`--port 65536`: at most 65535 (`cuttlebone serve --help`"),
        (("serve", "--grace-s", "0"), "`--grace-s 0`: more than 0 ("),
        (("serve", "--grace-s", "x"), "`--grace-s x`: a number ("),
        (("serve", "--isolation", "foo"), "`--isolation foo`: one of 'process', "),
        (("serve", "--model", "a/b=c"), "`--model a/b=c`: should have 1 to 64 letters, digits, "),
        (("run", "a", "-i", "1", "--limit", "steps=0"), "`--limit steps=0`: steps: at least 1 ("),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    cli: Cli, arguments: tuple[str, ...], complaint: str
) -> None:
    ended = cli(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert complaint in ended.err
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1


def test_wrong_usage_is_json_for_programs(cli: Cli) -> None:
    ended = cli("run", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert ended.complaint["code"] == "usage"


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("--help", "wasmtime llama_cpp fastapi pydantic httpx"),
        ("jobs --help", "wasmtime llama_cpp fastapi pydantic_settings"),
        ("submit --help", "wasmtime llama_cpp fastapi pydantic_settings"),
        ("run --help", "fastapi"),
    ],
)
def test_a_command_loads_only_what_it_needs(command: str, absent: str) -> None:
    program = (
        "import sys\nfrom cuttlebone.cli import main\n"
        f"main({command.split()!r})\nprint(sorted(set({absent.split()!r}) & sys.modules.keys()))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stdout.decode().splitlines()[-1] == "[]"


def test_clients_look_where_a_host_answers_by_default() -> None:
    settings = Settings()
    assert f"http://{settings.host}:{settings.port}" == DEFAULT_URL


def test_brackets_in_a_help_are_shown(cli: Cli) -> None:
    assert "`cuttlebone[demo]`" in cli("demo", "--help").out


@pytest.mark.parametrize("flag", ["--port", "--grace-s", "--callback-delay-s", "--isolation"])
def test_the_help_of_a_host_says_defaults(cli: Cli, flag: str) -> None:
    shown = " ".join(cli("serve", "--help").out.split())
    stated = shown.partition(f" {flag} ")[2].partition(" --")[0]
    assert "default:" in stated.replace("│ │", "")
