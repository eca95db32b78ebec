"""Files whose faults are told with their line."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from cuttlebone.errors import OperatorError
from cuttlebone.text.lined_documents import explain, read_lined


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    width: int = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    inner: Inner = Inner()
    sizes: list[int] = []


def faults(folder: Path, text: str) -> list[str]:
    path = folder / "file.yaml"
    path.write_text(text)
    document = read_lined(path, bytes_max=1000)
    with pytest.raises(ValidationError) as refused:
        Outer.model_validate(document.value)
    return [
        f"{document.place(one['loc']).removeprefix(f'{folder}/')} {explain(one, Outer)}"
        for one in refused.value.errors()
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("inner: {}\n", "file.yaml:1 the key `name` is required and missing"),
        ("name: a\nnome: b\n", "file.yaml:2 unknown key `nome`; did you mean `name`?"),
        (
            "name: a\ninner:\n  widht: 1\n",
            "file.yaml:3 unknown key `inner.widht`; did you mean `width`?",
        ),
        ("name: a\ninner:\n  width: b\n", "file.yaml:3 `inner.width`: should be a valid integer"),
        ("name: a\nsizes:\n- 1\n- b\n", "file.yaml:4 `sizes[1]`: should be a valid integer"),
        ('{"name": "a",\n "sizes": 5}', "file.yaml:2 `sizes`: should be"),
    ],
)
def test_a_fault_has_its_line_and_what_was_meant(tmp_path: Path, text: str, fault: str) -> None:
    (found,) = faults(tmp_path, text)
    assert found.startswith(fault)


def test_a_text_of_comments_is_null_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("# nothing\n\n  # here\n")
    assert read_lined(path, bytes_max=1000, empty=True).value is None
    with pytest.raises(OperatorError, match="no document in it"):
        read_lined(path, bytes_max=1000)


def test_a_file_that_is_too_long_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("a: 1\n")
    assert read_lined(path, bytes_max=5).value == {"a": 1}
    with pytest.raises(OperatorError, match="more than 4 bytes"):
        read_lined(path, bytes_max=4)
    with pytest.raises(OperatorError, match="cannot be read: No such file"):
        read_lined(tmp_path / "none.yaml", bytes_max=4)
