"""`cuttlebone run`: one job, its envelope on stdout, its end as the exit status."""

import signal
from pathlib import Path

import pytest

from cli.blocks import HOSTILE
from cli.conftest import Cli, Terminal
from cli.terminals import run_process
from cuttlebone.cli.options import INPUT_BYTES_MAX

WORD = '{"word": "a"}'


def test_a_job_that_completes_leaves_its_envelope_and_status_0(specs: Path) -> None:
    ended = run_process("run", str(specs / "complete.yaml"), "--input", WORD)
    assert ended.status == 0
    assert ended.result["status"] == "completed"
    assert ended.result["result"] == {"said": HOSTILE}
    assert ended.err == ""


def test_json_is_one_line(specs: Path) -> None:
    ended = run_process("run", str(specs / "complete.yaml"), "--input", WORD, "--json")
    assert ended.out.count("\n") == 1
    assert ended.result["status"] == "completed"


def test_a_job_that_fails_leaves_its_envelope_and_status_1(specs: Path) -> None:
    ended = run_process("run", str(specs / "fail.yaml"), "--input", WORD)
    assert ended.status == 1
    assert ended.result["error"] == {"code": "no_luck", "message": HOSTILE}


def test_the_state_of_a_host_that_serves_is_left_alone(specs: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    ended = run_process(
        "run", str(specs / "complete.yaml"), "-i", WORD,
        environment={"CUTTLEBONE_STATE": str(state)},
    )  # fmt: skip
    assert ended.status == 0
    assert not state.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_cancels_the_job_and_its_envelope_still_comes(
    specs: Path, number: signal.Signals, terminal: Terminal
) -> None:
    on_terminal = terminal("run", str(specs / "spin.yaml"), "--input", WORD)
    on_terminal.read_until("spinning")
    on_terminal.process.send_signal(number)
    ended = on_terminal.end()
    assert ended.status == 3
    assert ended.result["status"] == "cancelled"


def test_a_limit_narrows_the_one_of_the_spec(specs: Path) -> None:
    ended = run_process("run", str(specs / "spin.yaml"), "--input", WORD, "--limit", "time_ms=200")
    assert ended.status == 1
    assert ended.result["error"]["code"] == "timeout"


def test_a_folder_means_the_one_spec_in_it(specs: Path, tmp_path: Path) -> None:
    for name in ("complete.yaml", "complete.wasm"):
        (tmp_path / name).write_bytes((specs / name).read_bytes())
    (tmp_path / "cuttlebone.yaml").write_text("port: 1\n")
    assert run_process("run", str(tmp_path), "--input", WORD).status == 0


def test_a_folder_with_several_specs_or_none_is_refused(
    cli: Cli, specs: Path, tmp_path: Path
) -> None:
    several = cli("run", str(specs), "--input", WORD)
    assert (several.status, several.out) == (2, "")
    assert "has 3 specs, complete.yaml, fail.yaml, spin.yaml: name one" in several.err
    none = cli("run", str(tmp_path), "--input", WORD)
    assert none.status == 2
    assert f"there is no spec in {tmp_path}" in none.err


def test_a_model_that_is_missing_is_said_before_anything_starts(
    cli: Cli, specs: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "asks.yaml"
    spec.write_text((specs / "complete.yaml").read_text() + "model: large\n")
    without = cli("run", str(spec), "--input", WORD)
    assert (without.status, without.out) == (2, "")
    assert "asks for the model `large`, and none is given: add --model large=FILE" in without.err
    gone = cli("run", str(spec), "--input", WORD, "--model", f"large={tmp_path}/none.gguf")
    assert gone.status == 2
    assert f"the model `large` cannot be loaded: {tmp_path}/none.gguf does not exist" in gone.err


def test_a_terminal_shows_what_happens_and_nothing_that_moves_its_cursor(
    specs: Path, terminal: Terminal
) -> None:
    on_terminal = terminal("run", str(specs / "complete.yaml"), "--input", WORD)
    ended = on_terminal.end()
    assert "saying \\x1b[2J\\x9b31m[bold red]boo[/] \\u202edrow" in ended.err
    assert not {"\x9b", "\u202e"} & set(ended.err + ended.out)
    assert "\x1b[2J" not in ended.err + ended.out


def test_no_color_takes_the_colours_away(specs: Path, terminal: Terminal) -> None:
    wanted = ("run", str(specs / "fail.yaml"), "--input", WORD)
    with_colours, without = (
        terminal(*wanted), terminal(*wanted, environment={"NO_COLOR": "1", "COLUMNS": "40"}),
    )  # fmt: skip
    assert "● failed after " in with_colours.end().err
    assert "● failed after " in without.end().err
    assert (with_colours.coloured, without.coloured) == (True, False)


def test_the_input_comes_from_a_file_or_from_stdin(specs: Path, tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text(WORD)
    spec = str(specs / "complete.yaml")
    assert run_process("run", spec, "-i", f"@{tmp_path / 'input.json'}").status == 0
    assert run_process("run", spec, "-i", "-", stdin=WORD.encode()).status == 0


@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ("{word: a}", "`--input {word: a}`: not valid JSON"),
        ("@/does/not/exist", "/does/not/exist cannot be read: No such file"),
        ("[" * 200 + "]" * 200, "nests deeper"),
        (f'"{"x" * INPUT_BYTES_MAX}"', f"larger than {INPUT_BYTES_MAX} bytes"),
    ],
)
def test_an_input_that_is_no_json_is_refused(
    cli: Cli, specs: Path, tmp_path: Path, stated: str, complaint: str
) -> None:
    if len(stated) > 1000:
        (tmp_path / "long.json").write_text(stated)
        stated = f"@{tmp_path / 'long.json'}"
    ended = cli("run", str(specs / "complete.yaml"), "--input", stated)
    assert (ended.status, ended.out) == (2, "")
    assert complaint in ended.err


def test_an_input_that_does_not_fit_the_spec_is_refused_with_its_place(
    cli: Cli, specs: Path
) -> None:
    ended = cli("run", str(specs / "complete.yaml"), "--input", '{"word": 1}', "--json")
    assert (ended.status, ended.out) == (2, "")
    assert ended.complaint["code"] == "schema_validation_failed"
    assert [fault["pointer"] for fault in ended.complaint["faults"]] == ["/input/word"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: a\ndescription: b\nblok: c\n", ":3: unknown key `blok`; did you mean `block`?"),
        ("name: a\ndescription: b\nblock: missing.wasm\n", "missing.wasm"),
        ("name: [\n", "line 2, column 1"),
    ],
)
def test_a_spec_with_a_fault_is_refused_with_its_place(
    cli: Cli, tmp_path: Path, text: str, complaint: str
) -> None:
    spec = tmp_path / "a.yaml"
    spec.write_text(text)
    ended = cli("run", str(spec), "--input", "{}")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {spec}")
    assert complaint in ended.err


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--limit", "time=1", "'time' is no limit; known are time_ms"),
        ("--limit", "time_ms=soon", "'soon', which is no whole number"),
        ("--limit", "time_ms", "should be NAME=NUMBER"),
        ("--model", "demo", "should be ROLE=FILE.gguf"),
        ("--model", "=demo", "should be ROLE=FILE.gguf"),
    ],
)
def test_a_value_that_makes_no_sense_is_wrong_usage(
    cli: Cli, specs: Path, option: str, value: str, complaint: str
) -> None:
    ended = cli("run", str(specs / "complete.yaml"), "--input", WORD, option, value)
    assert (ended.status, ended.out) == (2, "")
    assert f"error: `{option} {value}`: " in ended.err
    assert complaint in ended.err
