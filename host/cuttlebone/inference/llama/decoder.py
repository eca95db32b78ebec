"""How llama.cpp is set up and called, so that the numbers of a sequence are its own."""

import ctypes
import time
from collections.abc import Sequence
from typing import Final

import llama_cpp
import numpy as np

from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama.batch import Batch
from cuttlebone.inference.llama.parallelism import Parallelism
from cuttlebone.inference.llama.samplers import Logits
from cuttlebone.inference.memory_estimate import BATCH_TOKENS_MAX
from cuttlebone.inference.model import DecodeFailed, ModelInfo, Run

_INTERRUPTED: Final = 2  # what llama_decode answers then
# llama.cpp asks before each of its steps whether to go on. The length of a text of C that is empty
# unless the batch is to end says that without Python: a callback of ours would wait for the interpreter
# each time, behind all threads that run jobs.
_WHEN_ASKED: Final = llama_cpp.ggml_abort_callback(
    ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value or 0
)
_NEVER: Final = llama_cpp.ggml_abort_callback()


def context_params(
    shape: KvShape, context_tokens: int, threads: int
) -> llama_cpp.llama_context_params:
    """The settings of a context.

    Flash attention adds up in the order of the cells, which in a pool is that in which they came
    free. Of the two it is the better one there; in streams nothing is in another order than alone,
    and long prompts take a third of the time without it.
    """
    params: llama_cpp.llama_context_params = llama_cpp.llama_context_default_params()
    params.n_ctx = context_tokens * shape.contexts
    params.n_batch = params.n_ubatch = BATCH_TOKENS_MAX
    params.n_seq_max = params.n_outputs_max = shape.slots
    params.kv_unified = shape.is_pool
    params.flash_attn_type = (
        llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        if shape.is_pool
        else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    params.n_threads = params.n_threads_batch = threads
    params.swa_full = True  # without it sliding windows forget what a copy would need
    return params


class Decoder:
    """Evaluates the batches of one context, and has the logits of the last one. Owner: the model.

    In streams a batch is one call for all runs of one token and then one for each other run: of a
    call with several sequences llama.cpp makes parts of equal length, and a token that is alone of
    its sequence in its part is computed by another kernel than several are. A call takes the logits
    of the one before it away, so these are kept.
    """

    def __init__(
        self, context: llama_cpp.llama_context_p, info: ModelInfo, *, threads_max: int
    ) -> None:
        self._context = context
        self._in_one_call = info.kv_shape.is_pool
        self._batch = Batch(BATCH_TOKENS_MAX)
        self._parallelism = Parallelism(threads_max)
        self._logits_type = ctypes.c_float * info.vocabulary_tokens
        self._rows: dict[int, int] = {}
        """Of runs in the last call, by index: where llama.cpp has their logits."""
        self._kept: dict[int, Logits] = {}
        """Of runs in earlier calls."""

    def decode(self, runs: Sequence[Run], interrupt: Interrupt | None) -> list[int]:
        """Evaluate one batch of checked runs; answer which were, by index. Raises DecodeFailed.

        Those of a call that was interrupted may have a part of their tokens in memory.
        """
        self._rows.clear()
        self._kept.clear()
        done: list[int] = []
        watched = (_NEVER, None) if interrupt is None else (_WHEN_ASKED, interrupt.address)
        llama_cpp.llama_set_abort_callback(self._context, *watched)
        for call in self._calls(runs):
            self._keep(runs)
            rows = self._batch.fill([runs[index] for index in call])
            if not self._evaluate():
                break
            self._rows = dict(zip(call, rows, strict=True))
            done += call
        return done

    def logits(self, index: int) -> Logits:
        """The logits after a run of the last batch, valid until the next one; raises DecodeFailed."""
        kept = self._kept.get(index)
        return self._read(self._rows[index]) if kept is None else kept

    def _calls(self, runs: Sequence[Run]) -> list[list[int]]:
        if self._in_one_call:
            return [list(range(len(runs)))]
        singles = [index for index, run in enumerate(runs) if len(run.tokens) == 1]
        # In this order: llama.cpp computes only streams together that follow one another.
        singles.sort(key=lambda index: runs[index].slot)
        others = [[index] for index, run in enumerate(runs) if len(run.tokens) > 1]
        return [singles, *others] if singles else others

    def _keep(self, runs: Sequence[Run]) -> None:
        """Copy what the next call would take away."""
        for index, row in self._rows.items():
            if runs[index].wants_logits:
                self._kept[index] = self._read(row).copy()
        self._rows = {}

    def _evaluate(self) -> bool:
        """Evaluate what is in the batch; False if that was interrupted."""
        threads = self._parallelism.threads
        llama_cpp.llama_set_n_threads(self._context, threads, threads)
        begun_s = time.perf_counter()
        answer = llama_cpp.llama_decode(self._context, self._batch.struct)
        took_s = time.perf_counter() - begun_s
        if answer == _INTERRUPTED:
            return False
        if answer != 0:
            raise DecodeFailed(f"llama.cpp could not evaluate a batch (llama_decode: {answer})")
        self._parallelism.took(self._batch.struct.n_tokens, took_s)
        return True

    def _read(self, row: int) -> Logits:
        pointer = llama_cpp.llama_get_logits_ith(self._context, row)
        if not pointer:
            raise DecodeFailed("llama.cpp gave no logits")
        # `np.ctypeslib.as_array` makes a new type each time: a third of what choosing costs.
        floats = self._logits_type.from_address(ctypes.addressof(pointer.contents))
        return np.frombuffer(memoryview(floats), np.float32)
