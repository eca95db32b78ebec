"""The door to llama.cpp: the only place that imports it, and only when a model is to be loaded here.

A host without a model in its process, the client and the command line work without the extra
`llama`, so no module that they import may need it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.inference.model import Model
from cuttlebone.inference.progress import Report
from cuttlebone.inference.thread import Load
from cuttlebone.settings import Settings

INSTALL: Final = "pip install 'cuttlebone[llama]'"
"""What brings everything that a model in this process needs."""
_MODULES: Final = ("llama_cpp", "llguidance", "numpy")


def missing_modules(*, find: Callable[[str], ModuleSpec | None] = find_spec) -> Sequence[str]:
    """Which modules of the extra are not installed. Nothing is imported."""
    return [name for name in _MODULES if find(name) is None]


def demand_llama(*, find: Callable[[str], ModuleSpec | None] = find_spec) -> None:
    """Raise OperatorError, with the command to type, unless the extra is installed."""
    if missing := missing_modules(find=find):
        raise OperatorError(
            f"models cannot run in this process: {', '.join(missing)} is not installed; "
            f"run `{INSTALL}`"
        )


def loader(path: Path, settings: Settings) -> Load:
    """What loads a model file as the settings say; raises OperatorError without the extra.

    The loading itself takes seconds and raises OperatorError, LoadAborted.
    """
    demand_llama()
    return partial(_load, path, settings)


def memory_needed(path: Path, settings: Settings) -> int:
    """Bytes that a model will take, its memory for sequences included; raises OperatorError."""
    demand_llama()
    from cuttlebone.inference import llama

    return llama.memory_needed(path, settings)


def _load(path: Path, settings: Settings, report: Report) -> Model:
    from cuttlebone.inference import llama

    return llama.load_model(path, settings, report)
