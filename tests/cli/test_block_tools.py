"""`block new`, `build`, `test`, `check` and `run`: what they write, and how they end."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
import wasmtime

from authoring.wat_blocks import block_folder, infer, write_case
from cli.conftest import Cli, Terminal
from cuttlebone_abi import Json

PAGE = Path(__file__).parents[2] / "docs" / "block-tools.md"
BROKEN = Path(__file__).parents[1] / "authoring" / "broken"
DONE: dict[str, Json] = {"cmd": "done", "result": {"said": "x"}}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTTLEBONE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = block_folder(tmp_path / "fixed", infer("a red fox"), DONE)
    write_case(made, "good", expect={"status": "completed"})
    return made


def test_a_new_block_in_c_is_made_built_and_tested(cli: Cli, tmp_path: Path) -> None:
    made = cli("block", "new", "tea", "--lang", "c", "--into", str(tmp_path))
    assert made.status == 0
    assert f"now    cuttlebone block test {tmp_path / 'tea'} --build" in made.out

    built = cli("block", "build", str(tmp_path / "tea"), "--json")
    assert built.status == 0
    assert built.result["size_bytes"] == (tmp_path / "tea" / "tea.wasm").stat().st_size

    tested = cli("block", "test", str(tmp_path / "tea"), "--isolation", "thread")
    assert tested.status == 0
    assert tested.out.splitlines()[-1] == "2 runs, 0 failed"


def test_a_name_that_is_taken_and_a_language_that_is_none_are_status_2(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "tea").mkdir()
    assert cli("block", "new", "tea", "--lang", "c", "--into", str(tmp_path)).status == 2
    assert cli("block", "new", "pot", "--lang", "cobol", "--into", str(tmp_path)).status == 2


def test_sources_that_do_not_compile_are_status_1(cli: Cli, folder: Path) -> None:
    (folder / "block.c").write_text("int x = ;")

    ended = cli("block", "build", str(folder), "--json")

    assert ended.status == 1
    assert ended.complaint["code"] == "build_failed"


def test_a_case_that_fails_is_status_1_and_its_difference_is_shown(cli: Cli, folder: Path) -> None:
    write_case(folder, "wrong", expect={"status": "completed", "result": {"said": "y"}})

    ended = cli("block", "test", str(folder), "--isolation", "thread")

    assert ended.status == 1
    lines = ended.out.splitlines()
    assert lines[0] == "ok     good (thread)"
    assert lines[1] == "FAILED wrong (thread)"
    assert any('-    "said": "y"' in line for line in lines)
    assert lines[-1] == "2 runs, 1 failed"
    told = cli("block", "test", str(folder), "--isolation", "thread", "--json").result
    assert [run["ok"] for run in told["runs"]] == [True, False]


def test_updating_records_the_case(cli: Cli, folder: Path) -> None:
    path = write_case(folder, "new")

    assert cli("block", "test", str(folder), "--case", "new", "--update").status == 0

    assert json.loads(path.read_text())["expect"] == {
        "status": "completed",
        "result": {"said": "x"},
    }
    assert cli("block", "test", str(folder), "--update", "--watch").status == 2


def test_a_case_that_cannot_be_read_is_status_2_with_its_place(cli: Cli, folder: Path) -> None:
    write_case(folder, "odd", expct={})

    ended = cli("block", "test", str(folder))

    assert ended.status == 2
    assert "odd.json: $.expct: there is no such key" in ended.err


def test_a_sound_block_is_checked_with_its_costs(cli: Cli, folder: Path) -> None:
    ended = cli("block", "check", str(folder / "fixed.wasm"))

    assert ended.status == 0
    assert "compile_ms" in ended.out
    assert ended.out.splitlines()[-1].endswith("a host runs it; 0 errors, 1 warnings")


def test_a_broken_block_is_status_1_with_what_mends_it(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "broken.wasm"
    path.write_bytes(wasmtime.wat2wasm((BROKEN / "wasi-from-rust.wat").read_text()))

    ended = cli("block", "check", str(path))

    assert ended.status == 1
    assert "error    imports the function `wasi_snapshot_preview1.random_get`" in ended.out
    assert "mend: Rust: cargo build --target wasm32-unknown-unknown" in ended.out
    told = cli("block", "check", str(path), "--json").result
    assert told["usable"] is False
    assert told["findings"][0]["mendings"][0].startswith("Rust: ")


def test_names_in_a_module_cannot_move_the_cursor(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "broken.wasm"
    path.write_bytes(wasmtime.wat2wasm('(module (import "\\1b[2J" "x" (func)))'))

    shown = cli("block", "check", str(path)).out

    assert "\\x1b[2J.x" in shown
    assert "\x1b" not in shown


def test_a_block_runs_alone_and_says_what_it_is_told_to_say(cli: Cli, folder: Path) -> None:
    module = str(folder / "fixed.wasm")

    ended = cli(
        "block", "run", module, "--input", "{}", "--say", "fox=three little words", "--json"
    )

    assert ended.status == 0
    assert ended.result["result"] == {"said": "x"}
    assert ended.result["usage"]["tokens_out"] == 4


def test_a_trace_has_every_message_with_its_time(cli: Cli, folder: Path) -> None:
    (folder / "texts").mkdir()

    ended = cli("block", "run", str(folder / "fixed.yaml"), "--input", "7", "--trace", "--json")

    entries = [json.loads(line)["trace"] for line in ended.err.splitlines()]
    assert [(entry["kind"], entry["step"]) for entry in entries] == [
        ("input", 1),
        ("command", 1),
        ("event", 2),
        ("command", 2),
    ]
    assert json.loads(entries[2]["text"])["text"] == "ok"
    assert all(entry["at_ms"] >= 0 and entry["took_ms"] >= 0 for entry in entries)


def test_a_trace_shows_text_as_it_comes(cli: Cli, folder: Path) -> None:
    ended = cli(
        *("block", "run", str(folder / "fixed.wasm"), "--input", "{}", "--trace"),
        *("--say", "fox=a \x1b[31mred one"),
    )

    assert '← command {"cmd": "infer"' in ended.err
    assert "a \\x1b[31mred one" in ended.err
    assert "\x1b[31m" not in ended.err
    assert "2 steps, " in ended.err


def test_a_run_that_fails_or_is_refused_ends_with_its_status(cli: Cli, tmp_path: Path) -> None:
    made = block_folder(tmp_path / "b", {"cmd": "open", "path": "/etc/passwd"}, DONE)
    failed = cli("block", "run", str(made / "fixed.wasm"), "--input", "{}")
    assert failed.status == 1
    assert "capability_denied" in failed.out

    granted = cli("block", "run", str(made / "fixed.wasm"), "--input", "{}", "--read", "/etc")
    assert granted.status == 0

    assert cli("block", "run", str(made / "none.wasm"), "--input", "{}").status == 2
    limited = cli(
        *("block", "run", str(made / "fixed.wasm"), "--input", "{}", "--read", "/etc"),
        *("--limit", "steps=1"),
    )
    assert "limit_exceeded" in limited.out


def test_a_block_that_never_returns_runs_into_its_time(cli: Cli, tmp_path: Path) -> None:
    made = block_folder(tmp_path / "b", {"cmd": "emit", "progress": 1})

    ended = cli(
        "block",
        "run",
        str(made / "fixed.wasm"),
        "--input",
        "{}",
        "--limit",
        "time_ms=300",
        "--json",
    )

    assert ended.status == 1
    assert ended.result["error"]["code"] == "timeout"


def test_ctrl_c_cancels_a_run_and_its_envelope_is_written(
    terminal: Terminal, tmp_path: Path
) -> None:
    made = block_folder(tmp_path / "b", {"cmd": "emit", "progress": "spinning"})

    running = terminal("block", "run", str(made / "fixed.wasm"), "--input", "{}", "--trace")
    running.read_until('→ event   {"event":"emitted"}')
    running.process.send_signal(signal.SIGINT)
    ended = running.end()

    assert ended.status == 3
    assert json.loads(ended.out)["status"] == "cancelled"
    assert "✗ end" in ended.err


def test_watching_runs_again_when_a_case_is_saved(terminal: Terminal, tmp_path: Path) -> None:
    made = block_folder(tmp_path / "b", DONE)
    (made / "block.c").write_text(
        '#include "cuttlebone.h"\n'
        "static cf_command start(cf_json input) { return cf_done(input); }\n"
        "static cf_command step(cf_event event) { return cf_done(event.json); }\n"
        "CF_BLOCK(start, step)\n"
    )
    write_case(made, "one", input=1, expect={"status": "completed", "result": 1})

    running = terminal("block", "test", str(made), "--watch", "--isolation", "thread")
    running.read_until("Ctrl-C ends it")
    write_case(made, "one", input=2, expect={"status": "completed", "result": 3})
    running.read_until("saved  one.json")
    running.process.send_signal(signal.SIGINT)
    ended = running.end()

    assert "ok     one (thread)" in ended.out


def test_watching_needs_no_compiler_where_only_cases_changed(
    terminal: Terminal, tmp_path: Path
) -> None:
    made = block_folder(tmp_path / "b", DONE)
    (made / "block.c").write_text("this is no C")
    os.utime(made / "block.c", (0, 0))
    write_case(made, "one", input=1, expect={"status": "completed", "result": 1})

    running = terminal("block", "test", str(made), "--watch", "--isolation", "thread")
    running.read_until("Ctrl-C ends it")
    for name in ("two", "three"):
        write_case(made, name, input=2, expect={"status": "completed"})
        running.read_until(f"saved  {name}.json")
    running.process.send_signal(signal.SIGINT)
    ended = running.end()

    assert "ok     two (thread)" in ended.out
    assert "error" not in ended.err


@pytest.mark.parametrize("command", ["new", "build", "check", "test", "run", "inspect"])
def test_the_page_names_every_command_and_option(cli: Cli, command: str) -> None:
    page = PAGE.read_text()
    options = set(
        re.findall(r"^│[ *]+(--[a-z-]+)", cli("block", command, "--help").out, re.MULTILINE)
    )

    assert f"`block {command} " in page
    assert [option for option in options - {"--help"} if option not in page] == []


def test_the_page_explains_every_fact_of_a_check(cli: Cli, folder: Path) -> None:
    facts = cli("block", "check", str(folder / "fixed.wasm"), "--json").result["facts"]

    inspected = {"digest", "abi_version", "signature", "wants_tokens"}
    assert [name for name in facts.keys() - inspected if f"`{name}`" not in PAGE.read_text()] == []
