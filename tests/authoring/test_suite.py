"""Cases through whole hosts: what a block sees, what the scripted model says, what is compared."""

import json
from pathlib import Path

import pytest

from authoring.wat_blocks import SPEC, block_folder, infer, write_case
from cuttlebone.authoring.folder import open_folder
from cuttlebone.authoring.suite import CaseOutcome, read_suite
from cuttlebone.authoring.trial import trial_settings
from cuttlebone.errors import OperatorError
from cuttlebone.settings import Isolation, Settings
from cuttlebone_abi import Json

DONE: dict[str, Json] = {"cmd": "done", "result": 1}
FAIL: dict[str, Json] = {"cmd": "fail", "code": "no_luck", "message": "sorry"}
OPEN: dict[str, Json] = {"cmd": "open", "path": "texts/a.txt"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return trial_settings(Settings(cache=tmp_path / "cache", state=tmp_path / "state"))


def verdict(folder: Path, settings: Settings) -> CaseOutcome:
    (only,) = read_suite(open_folder(folder), settings).run([Isolation.THREAD])
    return only


def test_a_case_that_comes_as_expected_is_ok_in_a_thread_and_in_a_process(
    tmp_path: Path, settings: Settings
) -> None:
    folder = block_folder(tmp_path / "b", DONE)
    write_case(folder, "one", expect={"status": "completed", "result": 1})

    verdicts = list(
        read_suite(open_folder(folder), settings).run([Isolation.THREAD, Isolation.PROCESS])
    )

    assert [(one.case, one.isolation, one.ok) for one in verdicts] == [
        ("one", "thread", True),
        ("one", "process", True),
    ]
    assert not (tmp_path / "state").exists()


def test_a_case_that_comes_otherwise_shows_the_difference(
    tmp_path: Path, settings: Settings
) -> None:
    folder = block_folder(tmp_path / "b", FAIL)
    write_case(folder, "one", expect={"status": "completed", "result": 1})

    found = verdict(folder, settings)

    assert not found.ok
    assert found.difference[-1] == "not compared: it ended as no_luck: sorry"


def test_only_the_files_of_the_case_are_there(tmp_path: Path, settings: Settings) -> None:
    folder = block_folder(tmp_path / "b", OPEN, DONE)
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("beside the block")
    write_case(folder, "one", expect={"status": "failed", "error": {"code": "not_found"}})
    assert verdict(folder, settings).ok

    write_case(folder, "one", files={"texts/a.txt": "x"}, expect={"status": "completed"})
    assert verdict(folder, settings).ok


def test_granted_folders_are_there_though_the_case_has_no_file_in_them(
    tmp_path: Path, settings: Settings
) -> None:
    spec = SPEC.replace("[./texts]", "[./texts, './logs/**/*.txt', ./deep/er]")
    command: dict[str, Json] = {"cmd": "list", "path": "deep/er"}
    folder = block_folder(tmp_path / "b", command, DONE, spec=spec)
    write_case(folder, "one", expect={"status": "completed"})

    assert verdict(folder, settings).ok


def test_the_model_says_the_first_answer_that_fits(tmp_path: Path, settings: Settings) -> None:
    folder = block_folder(tmp_path / "b", infer("a red fox"), DONE)
    answers = [{"when": "blue", "say": "no"}, {"when": "red", "say": "three whole words"}]
    write_case(
        folder,
        "one",
        model=[*answers, {"when": "", "say": "else"}],
        expect={"status": "completed", "usage": {"tokens_out": 4, "model": "writer"}},
    )

    assert verdict(folder, settings).ok


def test_the_context_of_the_model_can_be_narrow(tmp_path: Path, settings: Settings) -> None:
    folder = block_folder(tmp_path / "b", infer("x" * 100), DONE)
    write_case(
        folder,
        "one",
        context_tokens=50,
        expect={"status": "failed", "error": {"code": "context_overflow"}},
    )

    assert verdict(folder, settings).ok


def test_limits_of_a_case_narrow_those_of_the_spec(tmp_path: Path, settings: Settings) -> None:
    folder = block_folder(tmp_path / "b", OPEN, DONE)
    expected = {"status": "failed", "error": {"code": "limit_exceeded"}}
    write_case(folder, "one", files={"texts/a.txt": ""}, limits={"steps": 1}, expect=expected)

    assert verdict(folder, settings).ok


def test_progress_is_compared_where_it_is_stated(tmp_path: Path, settings: Settings) -> None:
    emit: dict[str, Json] = {"cmd": "emit", "progress": {"half": True}}
    folder = block_folder(tmp_path / "b", emit, DONE)
    write_case(folder, "one", expect={"status": "completed", "progress": [{"half": True}]})
    assert verdict(folder, settings).ok

    write_case(folder, "one", expect={"status": "completed", "progress": []})
    assert not verdict(folder, settings).ok


def test_an_input_that_is_refused_fails_with_the_code_of_the_refusal(
    tmp_path: Path, settings: Settings
) -> None:
    folder = block_folder(tmp_path / "b", DONE, spec=SPEC + "input: {type: string}\n")
    expected = {"status": "failed", "error": {"code": "schema_validation_failed"}}
    write_case(folder, "one", input=7, expect=expected)

    assert verdict(folder, settings).ok


def test_updating_records_what_comes_for_a_case_that_expects_nothing_yet(
    tmp_path: Path, settings: Settings
) -> None:
    folder = block_folder(tmp_path / "b", FAIL)
    path = write_case(folder, "one")
    assert "block test --update" in verdict(folder, settings).difference[0]

    list(read_suite(open_folder(folder), settings).update(Isolation.THREAD))

    assert json.loads(path.read_text())["expect"] == {
        "status": "failed",
        "error": {"code": "no_luck", "message": "sorry"},
    }
    assert verdict(folder, settings).ok


def test_cases_are_chosen_by_name(tmp_path: Path, settings: Settings) -> None:
    folder = block_folder(tmp_path / "b", DONE)
    for name in ("a", "b", "c"):
        write_case(folder, name, expect={"status": "completed"})

    suite = read_suite(open_folder(folder), settings, only=["c", "a"])
    assert [path.stem for path, _ in suite.cases] == ["a", "c"]
    with pytest.raises(OperatorError, match="there is no case 'd'; there are a, b, c"):
        read_suite(open_folder(folder), settings, only=["d"])


def test_a_module_that_was_not_built_is_told_to_be_so(tmp_path: Path, settings: Settings) -> None:
    folder = block_folder(tmp_path / "b", DONE)
    write_case(folder, "one")
    (folder / "fixed.wasm").unlink()

    with pytest.raises(OperatorError, match="cuttlebone block build"):
        verdict(folder, settings)


def test_a_spec_that_no_host_would_serve_is_told_with_its_own_path(
    tmp_path: Path, settings: Settings
) -> None:
    folder = block_folder(tmp_path / "b", DONE, spec=SPEC + "output: {type: 7}\n")
    write_case(folder, "one")

    with pytest.raises(OperatorError) as refused:
        verdict(folder, settings)

    assert f"{folder}/fixed.yaml" in str(refused.value)
