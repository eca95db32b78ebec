"""What llama.cpp does by itself: bare loops over its C API, and llama-cpp-python's own class."""

import ctypes
import importlib
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import llama_cpp

from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama import LlamaOptions, default_threads
from cuttlebone.inference.llama.decoder import context_params
from cuttlebone.inference.memory_estimate import BATCH_TOKENS_MAX


class Bare:
    """A model and greedy loops over it, with the parameters that the host uses."""

    def __init__(self, path: Path, options: LlamaOptions) -> None:
        params = llama_cpp.llama_model_default_params()
        params.use_extra_bufts = options.extra_buffers
        params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE  # weights in memory of our own
        self._threads = options.threads or default_threads()
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self._batch = llama_cpp.llama_batch_init(BATCH_TOKENS_MAX, 0, 1)
        self._sampler = llama_cpp.llama_sampler_init_greedy()

    def tokens_per_s(self, prompts: Sequence[str], tokens: int) -> float:
        """Evaluate all prompts together, then decode `tokens` tokens for each."""
        with self._context(len(prompts)) as context:
            begun_s = time.perf_counter()
            rows: list[tuple[int, int, list[int]]] = [
                (sequence, 0, self._tokenise(prompt)) for sequence, prompt in enumerate(prompts)
            ]
            chosen = self._decode(context, rows)
            for _ in range(tokens - 1):
                rows = [
                    (sequence, at + len(before), [token])
                    for (sequence, at, before), token in zip(rows, chosen, strict=True)
                ]
                chosen = self._decode(context, rows)
            return len(prompts) * tokens / (time.perf_counter() - begun_s)

    @contextmanager
    def _context(self, sequences: int) -> Iterator[llama_cpp.llama_context_p]:
        params = context_params(KvShape.streams(sequences), 4096, self._threads)
        context = llama_cpp.llama_init_from_model(self._model, params)
        if context is None:
            raise AssertionError("no context")
        try:
            yield context
        finally:
            llama_cpp.llama_free(context)

    def _decode(
        self, context: llama_cpp.llama_context_p, rows: Sequence[tuple[int, int, list[int]]]
    ) -> list[int]:
        batch, last, at = self._batch, [], 0
        for sequence, position, tokens in rows:
            for offset, token in enumerate(tokens):
                batch.token[at] = token
                batch.pos[at] = position + offset
                batch.n_seq_id[at] = 1
                batch.seq_id[at][0] = sequence
                batch.logits[at] = offset == len(tokens) - 1
                at += 1
            last.append(at - 1)
        batch.n_tokens = at
        if llama_cpp.llama_decode(context, batch) != 0:
            raise AssertionError("llama_decode failed")
        return [llama_cpp.llama_sampler_sample(self._sampler, context, row) for row in last]

    def _tokenise(self, text: str) -> list[int]:
        data = text.encode()
        buffer = (llama_cpp.llama_token * (len(data) + 8))()
        found = llama_cpp.llama_tokenize(
            self._vocab, data, len(data), buffer, len(buffer), False, True
        )
        return list(buffer[:found])


class Locked:
    """llama-cpp-python's `Llama`, which serves one sequence, behind a lock."""

    def __init__(self, path: Path, options: LlamaOptions) -> None:
        with _without_extra_buffers(needed=not options.extra_buffers):
            self._llama = llama_cpp.Llama(
                str(path),
                n_ctx=2048,
                n_threads=options.threads or default_threads(),
                n_threads_batch=options.threads or default_threads(),
                verbose=False,
            )
        self._lock = threading.Lock()

    def tokens_per_s(self, prompts: Sequence[str], tokens: int) -> float:
        """Complete all prompts, each in a thread of its own."""
        begun_s = time.perf_counter()
        with ThreadPoolExecutor(len(prompts)) as threads:
            list(threads.map(lambda prompt: self._complete(prompt, tokens), prompts))
        return len(prompts) * tokens / (time.perf_counter() - begun_s)

    def close(self) -> None:
        """Free the model."""
        self._llama.close()

    def _complete(self, prompt: str, tokens: int) -> None:
        with self._lock:
            self._llama(prompt, max_tokens=tokens, temperature=0.0, stop=[])


@contextmanager
def _without_extra_buffers(*, needed: bool) -> Iterator[None]:
    """Let `Llama` load as the host does: it has no argument for it, and dies on some machines."""
    module = importlib.import_module("llama_cpp.llama_cpp")  # where `Llama` looks the function up
    original = llama_cpp.llama_model_default_params

    def params() -> object:
        found = original()
        found.use_extra_bufts = False
        return found

    if needed:
        setattr(module, original.__name__, params)
    try:
        yield
    finally:
        setattr(module, original.__name__, original)


def silence() -> None:
    """Keep llama.cpp's own log away."""
    llama_cpp.llama_log_set(_SILENT, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()


_SILENT = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
    lambda _level, _text, _data: None
)
