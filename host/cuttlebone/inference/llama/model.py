"""One GGUF model in llama.cpp, through its C API: its own `Llama` class serves one sequence at a time."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import llama_cpp
import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.generation.request import CompileTerms, Constraint, Sampling
from cuttlebone.inference.constraint_reader import ConstraintReader
from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama.constrained import LlamaConstraint, Mask, compile_constraint
from cuttlebone.inference.llama.decoder import Decoder, context_params
from cuttlebone.inference.llama.samplers import Candidates, Chain, Greedy, Logits
from cuttlebone.inference.llama.vocabulary import Vocabulary
from cuttlebone.inference.llama.weights import load_weights
from cuttlebone.inference.memory_estimate import BATCH_TOKENS_MAX
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
from cuttlebone.syscalls import give_memory_back
from cuttlebone.text import printable

_LOG_ERROR: Final = 4  # GGML_LOG_LEVEL_ERROR
_SAID_OF_INTERRUPTS: Final = (
    "failed with error 1",
    "compute status: 1",
    "failed to decode, ret = 2",
)
"""How errors end that are none: 1 and 2 are its codes for what we have interrupted ourselves."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """How a model file is opened."""

    context_tokens_max: int = 4096
    kv_shape: KvShape = field(default_factory=KvShape.streams)
    """How the memory is shared out between sequences."""
    threads: int | None = None
    """At most; None is one for each core, less one when there are more than two."""
    extra_buffers: bool = True
    """Weights rearranged for the instructions of this processor, where llama.cpp knows how."""


def _log_error(level: int, text: bytes, _data: int | None) -> None:
    """Let llama.cpp's errors into our log, and nothing else of what it prints."""
    said = printable(text.decode(errors="replace").strip())
    if level == _LOG_ERROR and not said.endswith(_SAID_OF_INTERRUPTS):
        _log.warning("llama.cpp", text=said)


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
        self._constraints = ConstraintReader()
        self._vocabulary = Vocabulary(llama_cpp.llama_model_get_vocab(self._model))
        trained = llama_cpp.llama_model_n_ctx_train(self._model)
        context_tokens = min(options.context_tokens_max, trained or options.context_tokens_max)
        self._context = self._open_context(path, options, context_tokens)
        self._memory = llama_cpp.llama_get_memory(self._context)
        recurrent = llama_cpp.llama_model_is_recurrent(
            self._model
        ) or llama_cpp.llama_model_is_hybrid(self._model)
        slides = llama_cpp.llama_model_n_swa(self._model) > 0
        template = llama_cpp.llama_model_chat_template(self._model, None)
        self._template = template.decode(errors="replace") if template else None
        self._info = ModelInfo(
            name=self._meta("general.name") or path.stem,
            path=path,
            sha256=sha256,
            architecture=self._meta("general.architecture"),
            context_tokens=context_tokens,
            kv_shape=options.kv_shape,
            cells=llama_cpp.llama_n_ctx(self._context),
            # Only such models have been shown to be: the others keep state in other ways.
            exact=not (options.kv_shape.is_pool or recurrent or slides),
            trained_context_tokens=trained,
            vocabulary_tokens=self._vocabulary.size,
            batch_tokens_max=BATCH_TOKENS_MAX,
            chunk_tokens_min=1 if options.kv_shape.is_pool else 2,
            has_template=template is not None,
            shares_prefixes=not recurrent,
            interruptible=not recurrent,
        )
        self._candidates = Candidates(self._info.vocabulary_tokens)
        self._decoder = Decoder(
            self._context, self._info, threads_max=options.threads or default_threads()
        )

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

    def compile(self, constraint: Constraint, terms: CompileTerms) -> LlamaConstraint:
        """Compile a constraint; the first one takes longer, for the vocabulary is read for it."""
        read = self._constraints.read(constraint, terms)
        return compile_constraint(self._vocabulary.tokenizer(), read, terms)

    def sampler(self, sampling: Sampling, constraint: CompiledConstraint | None) -> Sampler:
        """Greedy, or llama.cpp's chain of samplers."""
        mask = None
        if isinstance(constraint, LlamaConstraint):
            mask = Mask(constraint, self._info.vocabulary_tokens)
        if sampling.temperature == 0 and sampling.repeat_penalty in (None, 1.0):
            return Greedy(self.logits, mask)
        return Chain(self.logits, self._candidates, sampling, mask)

    def decode(self, runs: Sequence[Run], interrupt: Interrupt | None = None) -> list[int]:
        """Evaluate one batch, or the part of it that was done before the interrupt."""
        self._check_runs(runs)
        done = self._decoder.decode(runs, interrupt if self._info.interruptible else None)
        for index in set(range(len(runs))).difference(done):
            self.truncate(runs[index].slot, runs[index].position)
        return done

    def logits(self, index: int) -> Logits:
        """The logits after a run of the last batch, valid until the next one; raises DecodeFailed."""
        return self._decoder.logits(index)

    def copy(self, source: Slot, target: Slot, tokens: int) -> None:
        """Let `target` begin as `source` does: with the same cells in a pool, with equal ones in streams."""
        # Of a stream no part can be copied, so all of it is, and cut.
        llama_cpp.llama_memory_seq_cp(self._memory, self._slot(source), self._slot(target), -1, -1)
        self.truncate(target, tokens)

    def truncate(self, slot: Slot, tokens: int) -> None:
        """Forget the end of a slot."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, self._slot(slot), tokens, -1):
            raise DecodeFailed("this model cannot take back a part of a sequence")

    def close(self) -> None:
        """Free everything; a second time does nothing."""
        self._vocabulary.close()
        self._constraints.close()
        model, self._model = self._model, None
        if model is not None:
            llama_cpp.llama_free(self._context)
            llama_cpp.llama_model_free(model)
            give_memory_back()

    def _open_context(
        self, path: Path, options: LlamaOptions, context_tokens: int
    ) -> llama_cpp.llama_context_p:
        params = context_params(
            options.kv_shape, context_tokens, options.threads or default_threads()
        )
        context: llama_cpp.llama_context_p | None = llama_cpp.llama_init_from_model(
            self._model, params
        )
        if context is None:
            llama_cpp.llama_model_free(self._model)
            raise OperatorError(
                f"there is no room for {options.kv_shape.contexts} contexts of {context_tokens} tokens "
                f"beside the model {printable(str(path))}; lower kv_memory_bytes or context_tokens_max"
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
            if not 0 <= run.position <= self._info.context_tokens - len(run.tokens):
                raise DecodeFailed(f"position {run.position} is outside the context")

    def _slot(self, slot: Slot) -> int:
        if not 0 <= slot < self._info.kv_shape.slots:
            raise DecodeFailed(f"slot {slot} does not exist")
        return slot

    def _meta(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(256)
        size = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return printable(buffer.value.decode(errors="replace")) if size > 0 else ""
