"""The document of a spec as it took effect: what changes it, and what comes back out of it."""

from pathlib import Path

import pytest

from cuttlebone.errors import JobError
from cuttlebone.job_options import Limits
from cuttlebone.specs.loading import LoadedSpec, load_document, load_spec
from cuttlebone.specs.spec import read_spec
from cuttlebone.specs.spec_document import SpecDocument
from cuttlebone.testing import Commands, ScriptedGuest, ScriptedSandbox
from cuttlebone_abi import ErrorCode, Json

SPEC = """
name: echo
description: Gives back what it is given.
block: echo.wasm
model: small
capabilities: {read: [./texts]}
input: {type: object, properties: {n: {type: number, default: .inf}, s: {minLength: 1}}}
output: output.json
infer: {temperature: 0.5, max_tokens_max: 7}
limits: {steps: 9}
"""


def echo(_guest: ScriptedGuest, value: Json) -> Commands:
    yield {"cmd": "done", "result": value}


SANDBOX = ScriptedSandbox({"echo": echo, "other": echo})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "texts").mkdir()
    (tmp_path / "echo.wasm").write_text("echo")
    (tmp_path / "output.json").write_text('{"type": "object"}')
    return tmp_path


def loaded(folder: Path, text: str = SPEC, *, steps_max: int = 100) -> LoadedSpec:
    path = folder / "echo.yaml"
    path.write_text(text)
    return load_spec(read_spec(path), path, admit=SANDBOX.admit, limits_max=Limits(steps=steps_max))


def test_what_is_loaded_from_a_document_is_what_the_document_was_of(folder: Path) -> None:
    first = loaded(folder)
    (folder / "echo.yaml").unlink()
    (folder / "output.json").unlink()
    again = load_document(first.document, admit=SANDBOX.admit)

    assert (again.document, again.sha256) == (first.document, first.sha256)
    assert again.block == first.block
    assert again.limits == first.limits
    assert again.grants.describe() == first.grants.describe()
    assert (again.spec.model, again.spec.infer) == (first.spec.model, first.spec.infer)
    assert (again.input_schema, again.output_schema) == (first.input_schema, first.output_schema)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Gives back what it is given.", "Says the same again."),
        ("properties: {n: {type: number, default: .inf}, s: {minLength: 1}}",
         "properties: {s: {minLength: 1}, n: {default: .inf, type: number}}"),
        ("limits: {steps: 9}", "limits: {steps: 9, handles: 64}"),
        ("\ninfer", "\n# a remark\ninfer"),
    ],
)  # fmt: skip
def test_what_shapes_no_job_changes_no_digest(folder: Path, before: str, after: str) -> None:
    assert before in SPEC
    assert loaded(folder).sha256 == loaded(folder, SPEC.replace(before, after)).sha256


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model: small", "model: large"),
        ("./texts", "./texts/a.txt"),
        ("minLength: 1", "minLength: 2"),
        ("temperature: 0.5", "temperature: 0.6"),
        ("steps: 9", "steps: 8"),
        ("name: echo", "name: echo2"),
        ("\ninfer", "\nrecord: full\ninfer"),
        ("\ninfer", "\ndata_policy: any\ninfer"),
    ],
)
def test_what_shapes_a_job_changes_the_digest(folder: Path, before: str, after: str) -> None:
    (folder / "texts" / "a.txt").write_text("")
    assert before in SPEC
    assert loaded(folder).sha256 != loaded(folder, SPEC.replace(before, after)).sha256


def test_the_files_that_a_spec_names_and_the_maxima_of_the_host_are_part_of_it(
    folder: Path,
) -> None:
    found = {loaded(folder).sha256, loaded(folder, steps_max=5).sha256}
    (folder / "output.json").write_text("true")
    found.add(loaded(folder).sha256)
    (folder / "echo.wasm").write_text("other")
    found.add(loaded(folder).sha256)

    assert len(found) == 4


def test_a_block_that_is_no_block_any_more_is_another_one(folder: Path) -> None:
    document = loaded(folder).document
    (folder / "echo.wasm").write_text("no block")

    with pytest.raises(JobError, match=r"its block `echo\.wasm` had the SHA-256") as caught:
        load_document(document, admit=SANDBOX.admit)
    assert caught.value.code is ErrorCode.INPUT_CHANGED


def test_a_document_is_read_as_it_was_written(folder: Path) -> None:
    document = loaded(folder).document

    assert SpecDocument.read(document).written() == document
    assert b"Gives back" not in document
