"""Reads the weights of a model file into memory, and tells how far that is."""

import ctypes
import os
from pathlib import Path

import llama_cpp

from cuttlebone.errors import OperatorError
from cuttlebone.inference.progress import LoadAborted, Report
from cuttlebone.text import printable


class _Callback:
    """What llama.cpp calls after each tensor; False ends the load.

    No exception can pass through the code of llama.cpp, so one is kept until that has returned.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self.aborted = False
        self.fault: Exception | None = None

    def __call__(self, done: float, _data: int | None) -> bool:
        try:
            self.aborted = not self._report(done)
        except Exception as error:  # noqa: BLE001  # raised again by `load_weights`
            self.fault = error
            return False
        return not self.aborted


def load_weights(path: Path, report: Report, *, extra_buffers: bool) -> llama_cpp.llama_model_p:
    """Load; raises OperatorError, or LoadAborted when the report says so."""
    params = llama_cpp.llama_model_default_params()
    # Not mapped into memory: a mapped file that somebody cuts ends the process with SIGBUS.
    params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE
    params.use_extra_bufts = extra_buffers
    params.check_tensors = True
    callback = _Callback(report)
    # A name of its own keeps it from being collected while llama.cpp has only the pointer.
    pointer = llama_cpp.llama_progress_callback(callback)
    params.progress_callback = pointer
    params.progress_callback_user_data = ctypes.c_void_p(0)
    model: llama_cpp.llama_model_p | None = llama_cpp.llama_model_load_from_file(
        os.fsencode(path), params
    )
    if model is not None:
        return model
    if callback.fault is not None:
        raise callback.fault
    if callback.aborted:
        raise LoadAborted
    raise OperatorError(
        f"llama.cpp cannot load {printable(str(path))}: the file is broken, or of an "
        "architecture that this version does not know"
    )
