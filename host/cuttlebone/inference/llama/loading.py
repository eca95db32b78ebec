"""Opens a model file: its header, its digest, a trial in another process, and only then here."""

import hashlib
import json
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.inference.gguf import read_header
from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama.model import LlamaModel, LlamaOptions
from cuttlebone.inference.llama.trial import try_out
from cuttlebone.inference.progress import Report, go_on, unwatched
from cuttlebone.saving import make_private, save
from cuttlebone.settings import Settings
from cuttlebone.text import printable

_CHUNK_BYTES: Final = 1 << 20


def load_model(path: Path, settings: Settings, shape: KvShape, report: Report) -> LlamaModel:
    """Load a model file as the settings say; raise OperatorError, LoadAborted. Takes seconds."""
    options = LlamaOptions(
        context_tokens_max=settings.context_tokens_max, kv_shape=shape, threads=settings.threads
    )
    return open_model(path, options, trials=settings.cache_folder / "models", report=report)


def open_model(
    path: Path, options: LlamaOptions, *, trials: Path, report: Report = unwatched
) -> LlamaModel:
    """Load a model file; raise OperatorError, LoadAborted.

    A file that this host, with this llama.cpp, has never seen is first tried out in a process of
    its own, because a broken one can end the process that loads it. `trials` is the folder where
    the results are kept, one file for each digest. All that comes before the load itself is reported
    as 0, again and again.
    """
    tried, digest = tried_options(path, options, trials=trials, report=report)
    return LlamaModel(path, tried, sha256=digest, report=report)


def tried_options(
    path: Path, options: LlamaOptions, *, trials: Path, report: Report = unwatched
) -> tuple[LlamaOptions, str]:
    """The options that this file can be opened with here, and its digest.

    Raises OperatorError, LoadAborted.
    """
    read_header(path)
    digest = sha256_of(path, report)
    record = trials / f"{digest}-{version('llama-cpp-python')}.json"
    extra_buffers = _recorded(record)
    if extra_buffers is None:
        extra_buffers = try_out(path, options, report)
        _keep(record, extra_buffers=extra_buffers)
    return replace(options, extra_buffers=extra_buffers), digest


def sha256_of(path: Path, report: Report = unwatched) -> str:
    """The SHA-256 of a file, in hexadecimal; raises OperatorError, LoadAborted."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                go_on(report)
                digest.update(chunk)
            return digest.hexdigest()
    except OSError as error:
        raise OperatorError(
            f"the model file {printable(str(path))} cannot be read: {error.strerror}"
        ) from None


def _recorded(record: Path) -> bool | None:
    """Whether this file may use extra buffers, or None if it was never tried out."""
    try:
        found = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return None
    match found:
        case {"extra_buffers": bool(extra_buffers)}:
            return extra_buffers
        case _:
            return None


def _keep(record: Path, *, extra_buffers: bool) -> None:
    """Write the result down, whole or not at all; a host that cannot will try again next time."""
    try:
        make_private(record.parent)
        save(record, json.dumps({"extra_buffers": extra_buffers}).encode(), mode=0o600)
    except OSError:
        return
