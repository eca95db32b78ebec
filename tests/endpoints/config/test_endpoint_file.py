"""The host's endpoint file: each role once, replaced as a whole or not at all."""

from pathlib import Path

import pytest

from cuttlebone.endpoints.config.spec import Flavour, InferenceSpec, InvalidConfig, MalformedSpec
from cuttlebone.endpoints.config.spec.file import (
    ENDPOINTS_MAX,
    merged,
    read_endpoints,
    save_endpoints,
    write_endpoints,
)
from cuttlebone.errors import OperatorError
from cuttlebone.text.documents import read_document

A = InferenceSpec(role="a", runtime=Flavour.LLAMACPP)
B = InferenceSpec(role="b", runtime=Flavour.OLLAMA, sticky=True)


def test_what_is_saved_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    save_endpoints(path, [A, B])
    assert read_endpoints(read_document(path.read_bytes())) == (A, B)
    assert [file.name for file in tmp_path.iterdir()] == ["endpoints.json"]


def test_saving_keeps_the_mode_of_the_file_and_follows_a_link(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    path.write_text("old")
    path.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    save_endpoints(link, [A])
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_endpoints(read_document(path.read_bytes())) == (A,)


def test_a_file_that_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "endpoints.json"
    taken.mkdir()
    with pytest.raises(OperatorError, match="cannot be written"):
        save_endpoints(taken, [A])
    with pytest.raises(OperatorError, match="cannot be written: No such file"):
        save_endpoints(tmp_path / "none" / "endpoints.json", [A])
    assert list(tmp_path.iterdir()) == [taken]


def test_a_file_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    spec = A.model_copy(update={"excludes": ("x" * 64,) * 20_000})
    with pytest.raises(OperatorError, match="at most 1048576 are read again"):
        save_endpoints(tmp_path / "endpoints.json", [spec])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "document", [None, [], {}, {"endpoints": None}, {"endpoints": {}}, {"endpoints": [], "x": 1}]
)
def test_the_shape_of_the_file_is_closed(document: object) -> None:
    with pytest.raises(MalformedSpec, match="the one key endpoints"):
        read_endpoints(document)


def test_a_fault_names_its_place_in_the_file() -> None:
    document = write_endpoints([A, B])
    assert isinstance(document["endpoints"], list)
    for broken, field in (({}, "endpoints[2].role"), (None, "endpoints[2]")):
        with pytest.raises(MalformedSpec) as malformed:
            read_endpoints({"endpoints": [*document["endpoints"], broken]})
        assert malformed.value.field == field
    with pytest.raises(InvalidConfig) as invalid:
        read_endpoints(write_endpoints([A, B.model_copy(update={"role": " "})]))
    assert invalid.value.field == "endpoints[1].role"


def test_a_role_stands_once_in_the_file() -> None:
    with pytest.raises(InvalidConfig, match=r'the role "a" stands at 0 and at 2') as refused:
        read_endpoints(write_endpoints([A, B, A]))
    assert refused.value.field == "endpoints[2].role"


def test_the_file_has_a_bound() -> None:
    specs = [A.model_copy(update={"role": f"r{at}"}) for at in range(ENDPOINTS_MAX + 1)]
    assert len(read_endpoints(write_endpoints(specs[:-1]))) == ENDPOINTS_MAX
    with pytest.raises(InvalidConfig, match="1025 endpoints are too many; at most 1024"):
        read_endpoints(write_endpoints(specs))


def test_added_specs_stand_behind_those_of_the_file() -> None:
    assert merged([B], [A], replaces=False) == (B, A)
    assert merged([A, B], [A], replaces=False) == (A, B)


def test_a_role_is_replaced_only_when_asked() -> None:
    other = A.model_copy(update={"sticky": True})
    with pytest.raises(InvalidConfig, match="is served already, with other values"):
        merged([B, A], [other], replaces=False)
    assert merged([B, A], [other], replaces=True) == (B, other)
