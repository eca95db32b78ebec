"""Case files: what they may say, and how they are refused."""

import json
import re
from pathlib import Path

import pytest

from cuttlebone.authoring.case import Case, case_files, read_case, record
from cuttlebone.errors import OperatorError
from cuttlebone_abi import Json

PAGE = (Path(__file__).parents[2] / "docs" / "block-cases.md").read_text()


def written(folder: Path, case: Json) -> Path:
    path = folder / "case.json"
    path.write_text(json.dumps(case))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(OperatorError) as refused:
        read_case(path)
    return str(refused.value)


def test_the_case_of_the_page_is_a_case(tmp_path: Path) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)

    case = read_case(written(tmp_path, json.loads(example)))

    assert case.contents()["texts/photo.png"] == b"\x89PNG\r\n\x1a\n"
    assert case.expect is not None
    assert case.expect.status == "completed"


def test_the_page_names_every_key_of_a_case() -> None:
    assert [name for name in Case.model_fields if f"| `{name}` |" not in PAGE] == []


def test_about_and_input_are_enough(tmp_path: Path) -> None:
    case = read_case(written(tmp_path, {"about": "Nothing else.", "input": None}))

    assert (case.files, case.model, case.expect) == ({}, (), None)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"expct": {}}, r"\$\.expct: there is no such key; a case has about, input"),
        ({"about": ""}, r"\$\.about"),
        ({"files": {"/etc/passwd": ""}}, "must be a path inside the folder"),
        ({"files": {"a/../../b": ""}}, "must be a path inside the folder"),
        ({"files": {"a\n": ""}}, "is no path of a file"),
        ({"files": {"a": {"base64": "?"}}}, "not base64"),
        ({"model": [{"when": "a"}]}, r"\$\.model\[0\]\.say: missing"),
        ({"limits": {"step": 1}}, r"\$\.limits\.step: there is no such key"),
        ({"context_tokens": 0}, r"\$\.context_tokens"),
        ({"expect": {"status": "running"}}, r"\$\.expect\.status"),
    ],
)
def test_what_no_case_may_say_is_refused_with_its_place(
    tmp_path: Path, part: dict[str, Json], said: str
) -> None:
    path = written(tmp_path, {"about": "A case.", "input": {}} | part)

    assert re.search(said, refusal(path))
    assert str(path) in refusal(path)


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    assert len(refusal(written(tmp_path, {"files": [], "modell": []})).splitlines()) == 4


def test_what_is_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text('{"about": "a",\n}')

    assert "line 2" in refusal(tmp_path / "case.json")


def test_recording_keeps_everything_but_the_expectation(tmp_path: Path) -> None:
    path = written(
        tmp_path, {"about": "ü", "input": 1, "expect": {"status": "failed"}, "files": {}}
    )

    record(path, {"status": "completed", "result": 2})

    assert list(json.loads(path.read_text())) == ["about", "input", "expect", "files"]
    expect = read_case(path).expect
    assert expect is not None
    assert expect.result == 2
    assert "ü" in path.read_text()


def test_a_folder_without_cases_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="block test --update"):
        case_files(tmp_path)
