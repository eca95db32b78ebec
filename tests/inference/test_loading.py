"""The door to llama.cpp where the extra that brings it is not installed."""

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.inference.loading import demand_llama, loader, missing_modules
from cuttlebone.settings import Settings


def _without(absent: str) -> Callable[[str], ModuleSpec | None]:
    def find(name: str) -> ModuleSpec | None:
        return None if name == absent else ModuleSpec(name, None)

    return find


def test_what_is_missing_is_named_with_the_command_that_brings_it() -> None:
    assert missing_modules(find=_without("llguidance")) == ["llguidance"]
    with pytest.raises(OperatorError, match=r"llguidance .*`pip install 'cuttlebone\[llama\]'`"):
        demand_llama(find=_without("llguidance"))


def test_with_the_extra_nothing_is_missing() -> None:
    assert missing_modules() == []
    demand_llama()


def test_a_file_is_not_looked_at_before_it_is_loaded(tmp_path: Path) -> None:
    load = loader(tmp_path / "none.gguf", Settings(), 1 << 30)
    with pytest.raises(OperatorError, match=r"none\.gguf"):
        load(lambda _done: True)
