"""`cuttlebone doctor`: what is said of each finding, and the exit status."""

from pathlib import Path

from cli.conftest import Cli
from cuttlebone_abi import Json


def test_a_host_that_is_set_up_well_has_nothing_to_mend(
    cli: Cli, specs: Path, tmp_path: Path
) -> None:
    ended = cli(
        "doctor", "--specs", str(specs), "--cache", str(tmp_path / "c"), "--no-state", "--json"
    )
    assert ended.status == 0
    assert ended.result["ok"] is True
    areas = {one["area"] for one in ended.result["findings"]}
    assert areas >= {"versions", "isolation", "specs", "cache folder", "state folder", "access"}
    assert list(tmp_path.iterdir()) == []


def test_what_there_is_to_mend_makes_status_1_and_is_said_to_people(
    cli: Cli, tmp_path: Path
) -> None:
    ended = cli("doctor", "--specs", str(tmp_path / "none"), "--no-state")
    assert ended.status == 1
    assert "mend  specs: the specs folder" in ended.out
    assert "→ give --specs FOLDER" in ended.out


def test_a_finding_is_escaped_for_people(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text('"\\e[2J": 1\n')
    ended = cli("doctor", "--specs", str(tmp_path), "--no-state")
    assert "\x1b[2J" not in ended.out


def test_json_findings_have_all_their_fields(cli: Cli, specs: Path) -> None:
    findings: Json = cli("doctor", "--specs", str(specs), "--no-state", "--json").result["findings"]
    assert {frozenset(one) for one in findings} == {
        frozenset({"area", "verdict", "what", "advice"})
    }
