"""`endpoint`, `intake` and `manifest`: documents checked, imported and listed from the command line."""

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.conftest import Cli
from cli.terminals import run_process
from cuttlebone.cli import endpoint, intake, manifest
from cuttlebone.text.documents import DOCUMENT_BYTES_MAX

SPEC = "role: coder\nruntime: infer.llamacpp\nserve: {port: 9000}\n"
ROSTER = """\
roster:
- {id: coder, name: Qwen, backend: mlx_lm, port: 8081, ram_gb: ~10, repo: o/a, role: daily}
- {id: vision, backend: mlx_vlm, ram_gb: 4}
- {id: alias, backend: mlx-lm, port: 8081, ram_gb: 5, repo: o/a}
- {id: voice, backend: ollama, ram_gb: 4}
"""
INTAKE = "model: {id: org/name}\nmodality: llm\nhardware: {gpu: RTX 5090}\n"
PINNED = INTAKE + "workload: {chat_template_kwargs: {thinking: false}}\n"
MANIFEST: dict[str, Any] = {
    "manifest_version": 1,
    "model": {"id": "org/name", "revision": "0" * 40},
    "hardware": {"gpu": "RTX 5090", "count": 1},
    "engines": [{"name": "e", "label": "e", "install": ["true"], "launch": ["e"], "port": 8090}],
    "workload": {"modes": ["single"], "buckets": ["short"], "max_tokens": 64},
    "harness": {"inferencekit_version": "0.1.0", "wheel_sha256": ""},
    "agent_run": {"run_id": "r1"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty working folder."""
    with chdir(tmp_path):
        yield tmp_path


def test_a_spec_that_is_right_is_shown_with_its_url(cli: Cli, folder: Path) -> None:
    (folder / "spec.yaml").write_text(SPEC)
    ended = cli("endpoint", "check", "spec.yaml")
    assert ended.status == 0
    assert "coder: any model by infer.llamacpp at http://127.0.0.1:9000, 0 GB" in ended.out
    (described,) = cli("endpoint", "check", "spec.yaml", "--json").result["endpoints"]
    assert described["url"] == "http://127.0.0.1:9000"
    assert described["spec"]["api"] == "openai-v1"


@pytest.mark.parametrize(
    ("text", "code", "pointer", "word"),
    [
        (SPEC.replace("coder", "a b"), "invalid-config", "/role", '"a b" is no plain token'),
        (SPEC.replace("9000", '"9000"'), "malformed", "/serve/port", '"9000" is refused'),
        (SPEC + "role: x\n", "malformed", "", "for the second time"),
        ('{"role": "a", "role": "b"}', "malformed", "", "stands twice"),
        ("endpoints: [{role: a}]", "malformed", "/endpoints/0/runtime", "missing"),
        ("x: [", "malformed", "", "line 1"),
        ("#" * (DOCUMENT_BYTES_MAX + 1), "malformed", "", "more than 1048576 bytes"),
    ],
)
def test_a_spec_that_is_wrong_is_status_1_with_its_place(
    cli: Cli, folder: Path, text: str, code: str, pointer: str, word: str
) -> None:
    (folder / "spec.yaml").write_text(text)
    ended = cli("endpoint", "check", "spec.yaml", "--json")
    assert ended.status == 1
    (error,) = ended.result["errors"]
    assert (error["code"], error["pointer"]) == (code, pointer)
    assert word in error["message"]
    assert word in cli("endpoint", "check", "spec.yaml").out


@pytest.mark.parametrize("noun", ["endpoint", "intake", "manifest"])
@pytest.mark.parametrize(
    "arguments", [("check",), ("check", "none.yaml"), ("check", "."), ("chek",)]
)
def test_wrong_usage_is_status_2(
    cli: Cli, folder: Path, noun: str, arguments: tuple[str, ...]
) -> None:
    assert folder.is_dir()
    ended = cli(noun, *arguments)
    assert ended.status == 2
    assert ended.out == ""


def test_a_roster_is_imported_into_the_endpoint_file_and_listed(cli: Cli, folder: Path) -> None:
    (folder / "roster.yaml").write_text(ROSTER)
    ended = cli("endpoint", "import", "roster.yaml")
    assert ended.status == 0
    assert "skip     vision: there is no adapter for the backend" in ended.out
    assert "skip     alias: another name for coder" in ended.out
    assert "2 imported, 2 skipped; written to endpoints.json" in ended.out
    assert (
        "coder: Qwen by infer.mlx-lm at http://127.0.0.1:8081, 10 GB" in cli("endpoint", "list").out
    )
    listed = cli("endpoint", "list", "--json").result["endpoints"]
    assert [one["spec"]["role"] for one in listed] == ["coder", "voice"]
    assert listed[1]["spec"]["latency_class"] == "interactive"


def test_an_import_is_a_result_for_programs(cli: Cli, folder: Path) -> None:
    (folder / "roster.yaml").write_text(ROSTER)
    (folder / "overlay.yaml").write_text("excludes: {coder: [voice]}\n")
    ended = cli(
        "endpoint", "import", "roster.yaml", "--overlay", "overlay.yaml", "--dry-run", "--json"
    )
    assert ended.result["written"] is False
    assert ended.result["endpoints"][0]["spec"]["excludes"] == ["voice"]
    assert [(row["id"], row["reason"]) for row in ended.result["skipped"]] == (
        [("vision", "backend"), ("alias", "alias")]
    )
    assert ended.result["skipped"][1]["alias_of"] == "coder"
    assert not (folder / "endpoints.json").exists()


def test_an_import_twice_changes_nothing_and_another_value_needs_leave(
    cli: Cli, folder: Path
) -> None:
    (folder / "roster.yaml").write_text(ROSTER)
    for _ in range(2):
        assert cli("endpoint", "import", "roster.yaml", "--endpoints", "mine.json").status == 0
    before = (folder / "mine.json").read_bytes()
    (folder / "roster.yaml").write_text(ROSTER.replace("~10", "11"))
    ended = cli("endpoint", "import", "roster.yaml", "--endpoints", "mine.json")
    assert ended.status == 1
    assert 'the role "coder" is served already' in ended.out
    assert (folder / "mine.json").read_bytes() == before
    assert (
        cli("endpoint", "import", "roster.yaml", "--endpoints", "mine.json", "--replace").status
        == 0
    )
    listed = cli("endpoint", "list", "--endpoints", "mine.json", "--json").result["endpoints"]
    assert listed[0]["spec"]["memory"]["weights_bytes"] == 11_000_000_000


def test_a_role_that_a_roster_repeats_is_refused_and_nothing_written(
    cli: Cli, folder: Path
) -> None:
    again = "- {id: coder, backend: ollama, ram_gb: 1, port: 1}\n"
    (folder / "roster.yaml").write_text(ROSTER + again)
    ended = cli("endpoint", "import", "roster.yaml")
    assert ended.status == 1
    assert 'the id "coder" is that of 2 imported entries' in ended.out
    (error,) = cli("endpoint", "import", "roster.yaml", "--json").result["errors"]
    assert error["code"] == "repeated_role"
    assert not (folder / "endpoints.json").exists()


@pytest.mark.parametrize(
    ("roster", "overlay", "code"),
    [
        ("roster: [", "", "parse"),
        (ROSTER, "bogus: 1", "overlay"),
        ("#" * (DOCUMENT_BYTES_MAX + 1), "sticky: {}", "too_large"),
        # The bound cuts the last character in two.
        ("\u00e9" * (DOCUMENT_BYTES_MAX // 2 + 1), "sticky: {}", "too_large"),
        (ROSTER, "\u00e9" * (DOCUMENT_BYTES_MAX // 2 + 1), "overlay"),
        ("roster: [" + "{id: a}," * 257 + "]", "sticky: {}", "too_many_entries"),
    ],
)
def test_a_roster_that_cannot_be_read_is_status_1(
    cli: Cli, folder: Path, roster: str, overlay: str, code: str
) -> None:
    (folder / "roster.yaml").write_text(roster)
    (folder / "overlay.yaml").write_text(overlay or "sticky: {}")
    ended = cli("endpoint", "import", "roster.yaml", "--overlay", "overlay.yaml", "--json")
    assert ended.status == 1
    assert [error["code"] for error in ended.result["errors"]] == [code]


def test_files_of_a_roster_that_are_no_text_are_named(cli: Cli, folder: Path) -> None:
    for broken, code in (("overlay.yaml", "overlay"), ("roster.yaml", "parse")):
        (folder / "roster.yaml").write_text(ROSTER)
        (folder / "overlay.yaml").write_text("sticky: {}")
        (folder / broken).write_bytes(b"a: \xff")
        arguments = ("endpoint", "import", "roster.yaml", "--overlay", "overlay.yaml")
        assert [error["code"] for error in cli(*arguments, "--json").result["errors"]] == [code]
        ended = cli(*arguments)
        assert ended.status == 1
        assert f"{broken}: the {code.replace('parse', 'roster')} cannot be read" in ended.out
        assert "not UTF-8" in ended.out


def test_an_endpoint_file_that_is_broken_is_not_written_over(cli: Cli, folder: Path) -> None:
    (folder / "roster.yaml").write_text(ROSTER)
    (folder / "endpoints.json").write_text('{"endpoints": [')
    for arguments in (("import", "roster.yaml"), ("list",)):
        assert cli("endpoint", *arguments).status == 1
    assert (folder / "endpoints.json").read_text() == '{"endpoints": ['


def test_a_folder_that_takes_no_file_is_a_set_up_to_mend(cli: Cli, folder: Path) -> None:
    (folder / "roster.yaml").write_text(ROSTER)
    ended = cli("endpoint", "import", "roster.yaml", "--endpoints", "none/endpoints.json")
    assert ended.status == 2
    assert "cannot be written: No such file or directory" in ended.err


def test_an_endpoint_file_that_cannot_be_read_is_wrong_usage(cli: Cli, folder: Path) -> None:
    (folder / "endpoints.json").symlink_to("endpoints.json")
    ended = cli("endpoint", "list")
    assert ended.status == 2
    assert "endpoints.json cannot be read: Too many levels of symbolic links" in ended.err


def test_no_endpoint_file_lists_nothing(cli: Cli, folder: Path) -> None:
    assert folder.is_dir()
    ended = cli("endpoint", "list")
    assert (ended.status, ended.out) == (0, "")


def test_an_intake_is_checked_and_filled_in(cli: Cli, folder: Path) -> None:
    (folder / "intake.yaml").write_text(INTAKE + "note: 1\n")
    ended = cli("intake", "check", "intake.yaml", "--json")
    assert ended.status == 0
    assert ended.result["verdict"] == "accept_with_warning"
    assert ended.result["warnings"][0]["pointer"] == "/note"
    assert ended.result["normalised"]["workload"]["max_tokens"] == 256
    assert ended.result["rules"]["fidelity"] == {"value": "lossless", "source": "default: lossless"}
    shown = cli("intake", "check", "intake.yaml").out
    assert 'warning  /note: unknown key "note"' in shown
    assert shown.endswith("accept with warning: intake.yaml\n")


@pytest.mark.parametrize(
    ("text", "pointer"),
    [(INTAKE.replace("llm", "LLM"), "/modality"), ("[", ""), ('{"a": 1, "a": 1}', ""), ("5", "")],
)
def test_an_intake_with_an_error_is_status_1(
    cli: Cli, folder: Path, text: str, pointer: str
) -> None:
    (folder / "intake.yaml").write_text(text)
    ended = cli("intake", "check", "intake.yaml", "--json")
    assert ended.status == 1
    assert [error["pointer"] for error in ended.result["errors"]] == [pointer]
    assert ended.result["normalised"] is None
    assert "error    " in cli("intake", "check", "intake.yaml").out


def test_a_manifest_is_a_draft_until_it_is_to_be_repeated(cli: Cli, folder: Path) -> None:
    (folder / "run.json").write_text(json.dumps(MANIFEST))
    ended = cli("manifest", "check", "run.json", "--json")
    assert ended.status == 0
    assert ended.result["verdict"] == "accept_draft"
    repeated = cli("manifest", "check", "run.json", "--repeat", "--json")
    assert repeated.status == 1
    assert repeated.result["errors"][0]["pointer"] == "/harness/wheel_sha256"


def test_a_manifest_is_checked_against_its_intake(cli: Cli, folder: Path) -> None:
    (folder / "run.json").write_text(json.dumps(MANIFEST))
    (folder / "intake.yaml").write_text(PINNED)
    ended = cli("manifest", "check", "run.json", "--intake", "intake.yaml", "--json")
    assert ended.status == 1
    assert ended.result["errors"][0]["pointer"] == "/workload/chat_template_kwargs/thinking"
    (folder / "intake.yaml").write_text(PINNED.replace("llm", "none"))
    refused = cli("manifest", "check", "run.json", "--intake", "intake.yaml", "--json")
    assert refused.status == 1
    assert refused.result["errors"][0]["pointer"] == "/modality"
    (folder / "run.json").write_text("{")
    assert cli("manifest", "check", "run.json").status == 1


@pytest.mark.parametrize("module", [endpoint, intake, manifest])
def test_each_noun_is_an_app_that_says_what_it_does(module: Any) -> None:
    result = CliRunner().invoke(module.app, ["check", "--help"])
    assert result.exit_code == 0
    assert "Example: cuttlebone" in result.output


def test_the_command_is_there_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "intake.yaml").write_text(INTAKE)
    ended = run_process("intake", "check", str(tmp_path / "intake.yaml"), "--json")
    assert ended.status == 0
    assert ended.result["verdict"] == "accept"


def test_a_document_cannot_move_the_cursor(cli: Cli, folder: Path) -> None:
    (folder / "intake.yaml").write_text(INTAKE + '"\\e[2J": 1\n')
    ended = cli("intake", "check", "intake.yaml")
    assert "\x1b" not in ended.out
    assert "\\x1b[2J" in ended.out
