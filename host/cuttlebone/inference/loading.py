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

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.inference.available_memory import available_bytes
from cuttlebone.inference.gguf import Header, read_header
from cuttlebone.inference.kv_shape import KvShape, context_tokens_of, shape_of
from cuttlebone.inference.memory_estimate import bytes_needed
from cuttlebone.inference.model import Model
from cuttlebone.inference.progress import Report
from cuttlebone.inference.thread import Load
from cuttlebone.settings import Settings
from cuttlebone.text import printable

INSTALL: Final = "pip install 'cuttlebone[llama]'"
"""What brings everything that a model in this process needs."""
AVAILABLE_PART: Final = 8
"""Sequences take the eighth part of the memory that is available, unless the settings say otherwise."""
_log = structlog.get_logger(__name__)
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


def loader(path: Path, settings: Settings, kv_bytes_max: int) -> Load:
    """What loads a model file as the settings say; raises OperatorError without the extra.

    Its sequences have `kv_bytes_max` of memory. The loading itself takes seconds and raises
    OperatorError, LoadAborted.
    """
    demand_llama()
    return partial(_load, path, settings, kv_bytes_max)


def memory_needed(path: Path, settings: Settings, kv_bytes_max: int) -> int:
    """Bytes that a model will take once all of it is in use; raises OperatorError."""
    header = read_header(path)
    shape, context_tokens = kv_shape(header, settings, kv_bytes_max)
    return bytes_needed(header, shape, context_tokens)


def kv_bytes_each(settings: Settings, *, models: int) -> int:
    """Bytes for the sequences of each of so many models; by default by what is available now."""
    whole = settings.kv_memory_bytes or available_bytes() // AVAILABLE_PART
    return whole // max(1, models)


def kv_shape(header: Header, settings: Settings, kv_bytes_max: int) -> tuple[KvShape, int]:
    """How a model's memory will be shaped, and its context in tokens; raises OperatorError."""
    context_tokens = context_tokens_of(header, settings.context_tokens_max)
    shape = shape_of(
        header,
        choice=settings.kv_layout,
        bytes_max=kv_bytes_max,
        context_tokens=context_tokens,
        generations_max=settings.generations_max,
    )
    return shape, context_tokens


def _load(path: Path, settings: Settings, kv_bytes_max: int, report: Report) -> Model:
    from cuttlebone.inference import llama

    header = read_header(path)
    shape, context_tokens = kv_shape(header, settings, kv_bytes_max)
    _log.info(
        "memory of a model",
        model=printable(path.name),
        layout=str(shape.layout),
        generations_max=shape.generations_max,
        mebibytes=shape.bytes_of(header, context_tokens) >> 20,
    )
    return llama.load_model(path, settings, shape, report)
