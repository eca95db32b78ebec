"""The committed JSON Schemas are what the types say, and accept the golden messages."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from abi.golden import Golden, each, golden
from cuttlebone_abi import ErrorCode, JobStatus
from cuttlebone_abi.schema import FOLDER, schemas, stale, written


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuttlebone_abi.schema", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_committed_schemas_are_what_the_types_say() -> None:
    assert stale(FOLDER) == []


def test_a_check_that_finds_a_difference_ends_with_status_1_and_names_the_file(
    tmp_path: Path,
) -> None:
    assert run("--folder", str(tmp_path)).returncode == 0
    (tmp_path / "event.json").write_text("{}")

    checked = run("--folder", str(tmp_path), "--check")

    assert checked.returncode == 1
    assert "event.json is not what the types say" in checked.stderr
    assert "command.json" not in checked.stderr


def test_a_check_that_finds_none_ends_with_status_0(tmp_path: Path) -> None:
    assert run("--folder", str(tmp_path)).returncode == 0

    assert run("--folder", str(tmp_path), "--check").returncode == 0


def test_a_missing_file_and_a_stray_one_are_differences(tmp_path: Path) -> None:
    for name, schema in schemas().items():
        (tmp_path / name).write_text(written(schema))
    (tmp_path / "event.json").rename(tmp_path / "occasion.json")

    faults = " ".join(stale(tmp_path))

    assert "event.json is not what the types say" in faults
    assert "occasion.json is no schema of the contract" in faults


@each("valid", "command", "event", "envelope", "signature")
def test_a_valid_message_fits_its_schema(vector: Golden) -> None:
    # As a reader sees it: the validator does not know that the last of repeated keys counts.
    jsonschema_rs.validator_for(schemas()[f"{vector.kind}.json"]).validate(vector.value)


def test_most_messages_of_a_wrong_shape_do_not_fit_their_schema() -> None:
    # What a schema cannot say: encoding, depth, size, 1.0 against 1, bytes of a string, types.
    beyond = (
        "fraction-whole",
        "exponent",
        "stop-257",
        "stop-empty",
        "too-large",
        "depth",
        "digits",
    )
    wrong = [
        vector
        for vector in golden("invalid", "command", "event", "envelope")
        if vector.reason != "not valid JSON"
        and not any(part in vector.name for part in beyond)
        and "handle-fraction" not in vector.name
    ]

    fitting = [vector.name for vector in wrong if _fits(vector)]

    assert len(wrong) > 50
    assert fitting == []


@pytest.mark.parametrize(
    ("file", "values"),
    [("error-code.json", list(ErrorCode)), ("job-status.json", list(JobStatus))],
)
def test_a_schema_of_names_lists_them_all(file: str, values: list[str]) -> None:
    assert schemas()[file]["enum"] == values


def _fits(vector: Golden) -> bool:
    validator = jsonschema_rs.validator_for(schemas()[f"{vector.kind}.json"])
    return validator.is_valid(json.loads(vector.raw))
