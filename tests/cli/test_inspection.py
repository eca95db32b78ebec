"""`spec check` and `block inspect`: what a host would say, without one."""

from pathlib import Path

import wasmtime

from cli.conftest import Cli

GUESTS = Path(__file__).parents[1] / "guests"


def test_specs_without_fault_are_listed(cli: Cli, specs: Path) -> None:
    ended = cli("spec", "check", str(specs))
    assert ended.status == 0
    assert [line.split(":")[0] for line in ended.out.splitlines()] == [
        "ok     complete",
        "ok     fail",
        "ok     spin",
    ]


def test_every_fault_is_listed_beside_what_is_good(cli: Cli, specs: Path, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\ndescription: b\nblock: c\nblok: d\nmodell: e\n")
    (tmp_path / "b.json").write_text("[]")
    ended = cli("spec", "check", str(specs / "fail.yaml"), str(tmp_path), "--json")
    assert ended.status == 1
    assert [spec["name"] for spec in ended.result["specs"]] == ["fail"]
    first, second = ended.result["faults"]
    assert "a.yaml:4: unknown key `blok`" in first["message"]
    assert "a.yaml:5: unknown key `modell`" in first["message"]
    assert second["path"] == str(tmp_path / "b.json")


def test_a_name_that_two_files_have_is_a_fault_of_both(
    cli: Cli, specs: Path, tmp_path: Path
) -> None:
    text = f"name: same\ndescription: b\nblock: {specs / 'fail.wasm'}\n"
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(text)
    ended = cli("spec", "check", str(tmp_path))
    assert ended.status == 1
    assert ended.out.count("the name `same` stands in") == 2


def test_a_folder_without_specs_is_no_success(cli: Cli, tmp_path: Path) -> None:
    ended = cli("spec", "check", str(tmp_path))
    assert ended.status == 2
    assert "there is no *.yaml" in ended.err


def test_a_file_name_cannot_move_the_cursor(cli: Cli, tmp_path: Path) -> None:
    ended = cli("spec", "check", str(tmp_path / "\x1b[2J.yaml"))
    assert ended.status == 1
    assert "\x1b" not in ended.out
    assert "\\x1b[2J.yaml" in ended.out


def test_a_block_is_described(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "declared.wasm"
    path.write_bytes(wasmtime.wat2wasm((GUESTS / "declared.wat").read_text()))
    described = cli("block", "inspect", str(path), "--json").result
    assert described["size_bytes"] == path.stat().st_size
    assert described["digest"].startswith("sha256:")
    assert described["signature"] == "{path: text} -> [number]"
    assert described["abi_version"] == 1
    assert described["memory_bytes_min"] == 65536
    assert described["wants_tokens"] is True
    assert described["exports"]["cf_init"] == "(i32, i32) -> i32"
    shown = cli("block", "inspect", str(path)).out
    assert "  cf_init: (i32, i32) -> i32\n" in shown


def test_a_block_that_a_host_would_refuse_is_status_1_with_every_reason(
    cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "bad.wasm"
    path.write_bytes(wasmtime.wat2wasm('(module (import "env" "abort" (func)))'))
    ended = cli("block", "inspect", str(path))
    assert (ended.status, ended.out) == (1, "")
    assert "env.abort" in ended.err
    assert "cf_init" in ended.err
    assert cli("block", "inspect", str(path), "--json").complaint["code"] == "block_refused"


def test_a_block_that_is_missing_is_status_2(cli: Cli, tmp_path: Path) -> None:
    ended = cli("block", "inspect", str(tmp_path / "none.wasm"))
    assert ended.status == 2
    assert "none.wasm cannot be read: No such file or directory" in ended.err
