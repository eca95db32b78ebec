"""The batch that llama.cpp evaluates, filled from runs without allocating."""

import ctypes
from collections.abc import Sequence

import llama_cpp
import numpy as np

from cuttlebone.inference.model import Run


class Batch:
    """Room for so many tokens. Owner: one model; overwritten by each `fill`.

    `llama_batch_init` would give memory that only ctypes can reach, an element at a time; arrays
    of our own are written a run at a time. The struct points into them: they must never be
    replaced.
    """

    def __init__(self, tokens_max: int) -> None:
        self._tokens = np.zeros(tokens_max, np.int32)
        self._positions = np.zeros(tokens_max, np.int32)
        self._slots = np.zeros(tokens_max, np.int32)
        self._wanted = np.zeros(tokens_max, np.int8)
        self._ones = np.ones(tokens_max, np.int32)
        int32 = ctypes.POINTER(ctypes.c_int32)
        first = self._slots.ctypes.data
        addresses = [ctypes.cast(first + 4 * at, int32) for at in range(tokens_max)]
        self._slot_pointers = (int32 * (tokens_max + 1))(*addresses)
        self.struct = llama_cpp.llama_batch(
            n_tokens=0,
            token=self._tokens.ctypes.data_as(int32),
            embd=None,
            pos=self._positions.ctypes.data_as(int32),
            n_seq_id=self._ones.ctypes.data_as(int32),
            seq_id=self._slot_pointers,
            logits=self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(self, runs: Sequence[Run]) -> list[int]:
        """Lay out checked runs one after another; answer the row of each one's last token."""
        at, rows = 0, []
        for run in runs:
            end = at + len(run.tokens)
            self._tokens[at:end] = run.tokens
            self._positions[at:end] = range(run.position, run.position + len(run.tokens))
            self._slots[at:end] = run.slot
            self._wanted[at:end] = 0
            self._wanted[end - 1] = run.wants_logits
            rows.append(end - 1)
            at = end
        self.struct.n_tokens = at
        return rows
