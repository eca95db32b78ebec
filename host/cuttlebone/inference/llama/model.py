"""One GGUF model in llama.cpp, through its C API: its own `Llama` class serves one sequence at a time."""

import ctypes
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import llama_cpp
import numpy as np
import numpy.typing as npt
import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.generation.request import Constraint, Sampling
from cuttlebone.inference.llama.batch import Batch
from cuttlebone.inference.llama.constrained import LlamaConstraint, Mask, compile_constraint
from cuttlebone.inference.llama.parallelism import Parallelism
from cuttlebone.inference.llama.samplers import Candidates, Chain, Greedy
from cuttlebone.inference.llama.vocabulary import Vocabulary
from cuttlebone.inference.llama.weights import load_weights
from cuttlebone.inference.model import (
    CompiledConstraint,
    DecodeFailed,
    ModelInfo,
    Run,
    Sampler,
    Slot,
    Token,
)
from cuttlebone.inference.progress import Report, unwatched
from cuttlebone.text import printable

SLOTS: Final = 64
"""Sequences, running and kept; llama.cpp allows 256."""
BATCH_TOKENS_MAX: Final = 512
MICRO_BATCH_TOKENS: Final = 63
"""Tokens that llama.cpp computes at once.

From 64 on its attention on processors goes by tiles, and then a sequence's numbers depend on what
else is in the batch. Below, in a memory that was empty, it gets the same bits alone, in company, in chunks and
after a copied beginning (which a test holds it to), for about a fifth of prefill speed.
"""

_LOG_ERROR: Final = 4  # GGML_LOG_LEVEL_ERROR

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """How a model file is opened."""

    context_tokens_max: int = 4096
    cells_per_context_token: int = 2
    """How many sequences of full length the memory holds."""
    threads: int | None = None
    """At most; None is one for each core, less one when there are more than two."""
    extra_buffers: bool = True
    """Weights rearranged for the instructions of this processor, where llama.cpp knows how."""


def _log_error(level: int, text: bytes, _data: int | None) -> None:
    """Let llama.cpp's errors into our log, and nothing else of what it prints."""
    if level == _LOG_ERROR:
        _log.warning("llama.cpp", text=printable(text.decode(errors="replace").strip()))


# llama.cpp keeps the pointer for the life of the process, so this must never be collected.
_ROUTE_LOG: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
    _log_error
)


def default_threads() -> int:
    """The cores this process may use, less one for everybody else when there are more than two."""
    cores = len(os.sched_getaffinity(0))
    return cores - 1 if cores > 2 else cores


class LlamaModel:
    """One model file in memory, with its context. Owner: the inference thread.

    `tokenise` and `compile` are for any thread.
    Every index and size is checked here: llama.cpp ends the process over a wrong one.
    """

    def __init__(
        self,
        path: Path,
        options: LlamaOptions,
        *,
        sha256: str | None = None,
        report: Report = unwatched,
    ) -> None:
        """Load; raises OperatorError, LoadAborted. The file must have passed `read_header`."""
        llama_cpp.llama_log_set(_ROUTE_LOG, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self._model: llama_cpp.llama_model_p | None = load_weights(
            path, report, extra_buffers=options.extra_buffers
        )
        self._vocabulary = Vocabulary(llama_cpp.llama_model_get_vocab(self._model))
        trained = llama_cpp.llama_model_n_ctx_train(self._model)
        context_tokens = min(options.context_tokens_max, trained or options.context_tokens_max)
        cells = context_tokens * options.cells_per_context_token
        self._context = self._open_context(path, options, cells)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = Batch(BATCH_TOKENS_MAX)
        self._parallelism = Parallelism(options.threads or default_threads())
        recurrent = llama_cpp.llama_model_is_recurrent(
            self._model
        ) or llama_cpp.llama_model_is_hybrid(self._model)
        template = llama_cpp.llama_model_chat_template(self._model, None)
        self._template = template.decode(errors="replace") if template else None
        self._info = ModelInfo(
            name=self._meta("general.name") or path.stem,
            path=path,
            sha256=sha256,
            architecture=self._meta("general.architecture"),
            context_tokens=context_tokens,
            cells=llama_cpp.llama_n_ctx(self._context),
            trained_context_tokens=trained,
            vocabulary_tokens=self._vocabulary.size,
            slots=SLOTS,
            batch_tokens_max=BATCH_TOKENS_MAX,
            has_template=template is not None,
            shares_prefixes=not recurrent,
            memory_bytes=llama_cpp.llama_model_size(self._model),
        )
        self._candidates = Candidates(self._info.vocabulary_tokens)
        self._logits_type = ctypes.c_float * self._info.vocabulary_tokens

    @property
    def info(self) -> ModelInfo:
        """What is known of it."""
        return self._info

    @property
    def template(self) -> str | None:
        """The chat template of the file."""
        return self._template

    @property
    def begin_text(self) -> str:
        """How the vocabulary spells the token that begins a text."""
        return self._vocabulary.begin_text

    @property
    def end_text(self) -> str:
        """How the vocabulary spells the token that ends a text."""
        return self._vocabulary.end_text

    @property
    def begins_with(self) -> Token | None:
        """The token of `begin_text`, if the file wants it before every prompt."""
        return self._vocabulary.begins_with

    def tokenise(self, text: str, *, scaffold: bool) -> list[Token]:
        """Turn text into tokens; a control token in text that is no scaffold is plain text."""
        return self._vocabulary.tokenise(text, scaffold=scaffold)

    def piece(self, token: Token) -> bytes:
        """The bytes of a token; none for control tokens."""
        return self._vocabulary.piece(token)

    def ends_text(self, token: Token) -> bool:
        """Whether the vocabulary marks the token as an end of generation."""
        return self._vocabulary.ends_text(token)

    def compile(self, constraint: Constraint) -> LlamaConstraint:
        """Compile a constraint; the first one takes longer, for the vocabulary is read for it."""
        return compile_constraint(self._vocabulary.tokenizer(), constraint)

    def sampler(self, sampling: Sampling, constraint: CompiledConstraint | None) -> Sampler:
        """Greedy, or llama.cpp's chain of samplers."""
        mask = None
        if isinstance(constraint, LlamaConstraint):
            mask = Mask(constraint, self._info.vocabulary_tokens)
        if sampling.temperature == 0 and sampling.repeat_penalty in (None, 1.0):
            return Greedy(self.logits, mask)
        return Chain(self.logits, self._candidates, sampling, mask)

    def decode(self, runs: Sequence[Run]) -> list[int]:
        """Evaluate one batch; the row of a run is the index of its last token in the batch."""
        self._check_runs(runs)
        rows = self._batch.fill(runs)
        threads = self._parallelism.threads
        llama_cpp.llama_set_n_threads(self._context, threads, threads)
        begun_s = time.perf_counter()
        answer = llama_cpp.llama_decode(self._context, self._batch.struct)
        took_s = time.perf_counter() - begun_s
        if answer != 0:
            raise DecodeFailed(f"llama.cpp could not evaluate a batch (llama_decode: {answer})")
        self._parallelism.took(self._batch.struct.n_tokens, took_s)
        return rows

    def logits(self, row: int) -> npt.NDArray[np.float32]:
        """The logits after a row of the last batch, valid until the next one; raises DecodeFailed."""
        pointer = llama_cpp.llama_get_logits_ith(self._context, row)
        if not pointer:
            raise DecodeFailed("llama.cpp gave no logits")
        # `np.ctypeslib.as_array` makes a new type each time: a third of what choosing costs.
        floats = self._logits_type.from_address(ctypes.addressof(pointer.contents))
        return np.frombuffer(memoryview(floats), np.float32)

    def copy(self, source: Slot, target: Slot, tokens: int) -> None:
        """Let `target` share the first cells of `source`."""
        llama_cpp.llama_memory_seq_cp(
            self._memory, self._slot(source), self._slot(target), 0, tokens
        )

    def truncate(self, slot: Slot, tokens: int) -> None:
        """Forget the end of a slot."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, self._slot(slot), tokens, -1):
            raise DecodeFailed("this model cannot take back a part of a sequence")

    def close(self) -> None:
        """Free everything; a second time does nothing."""
        self._vocabulary.close()
        model, self._model = self._model, None
        if model is not None:
            llama_cpp.llama_free(self._context)
            llama_cpp.llama_model_free(model)

    def _open_context(
        self, path: Path, options: LlamaOptions, cells: int
    ) -> llama_cpp.llama_context_p:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = cells
        params.n_batch = BATCH_TOKENS_MAX
        params.n_ubatch = MICRO_BATCH_TOKENS
        params.n_seq_max = SLOTS
        params.n_outputs_max = SLOTS
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.n_threads = params.n_threads_batch = options.threads or default_threads()
        params.kv_unified = True  # cells of one pool: a beginning can be shared without copying
        params.swa_full = True  # without it sliding windows forget what a copy would need
        context: llama_cpp.llama_context_p | None = llama_cpp.llama_init_from_model(
            self._model, params
        )
        if context is None:
            llama_cpp.llama_model_free(self._model)
            raise OperatorError(
                f"there is no room for a memory of {cells} tokens beside the model "
                f"{printable(str(path))}; lower context_tokens_max"
            )
        return context

    def _check_runs(self, runs: Sequence[Run]) -> None:
        total = sum(len(run.tokens) for run in runs)
        if not 1 <= total <= BATCH_TOKENS_MAX:
            raise DecodeFailed(f"a batch of {total} tokens; 1 to {BATCH_TOKENS_MAX} are possible")
        for run in runs:
            self._slot(run.slot)
            low, high = min(run.tokens), max(run.tokens)
            if low < 0 or high >= self._info.vocabulary_tokens:
                raise DecodeFailed(f"token {low if low < 0 else high} is not in the vocabulary")
            if not 0 <= run.position <= self._info.cells - len(run.tokens):
                raise DecodeFailed(f"position {run.position} is outside the memory")

    def _slot(self, slot: Slot) -> int:
        if not 0 <= slot < self._info.slots:
            raise DecodeFailed(f"slot {slot} does not exist")
        return slot

    def _meta(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(256)
        size = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return printable(buffer.value.decode(errors="replace")) if size > 0 else ""
