"""The vocabulary of a loaded model: text to tokens and back."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import llama_cpp
import llguidance

from cuttlebone.errors import CommandError
from cuttlebone.inference.llama.constrained import TokenTable
from cuttlebone.inference.model import Token
from cuttlebone_abi import ErrorCode

PIECE_BYTES_MAX: Final = 1 << 16


class Vocabulary:
    """Reads the vocabulary inside a loaded model. Owner: the model.

    `tokenise` and `tokenizer` are for any thread, the rest for the model's own. `close` waits for
    those that read, so that the model is not freed under them; after it they refuse.
    """

    def __init__(self, vocab: llama_cpp.llama_vocab_p) -> None:
        self._vocab = vocab
        self._changed = threading.Condition(threading.Lock())
        self._readers = 0
        self._closed = False
        self._pieces: dict[Token, bytes] = {}
        self._indexing = threading.Lock()
        self._tokenizer: llguidance.LLTokenizer | None = None
        begin, end = llama_cpp.llama_vocab_bos(vocab), llama_cpp.llama_vocab_eos(vocab)
        self._end = end
        self.size: Final = llama_cpp.llama_vocab_n_tokens(vocab)
        self.begin_text: Final = self._spelled(begin)
        self.end_text: Final = self._spelled(end)
        wanted = llama_cpp.llama_vocab_get_add_bos(vocab) and begin >= 0
        self.begins_with: Final = Token(begin) if wanted else None

    def tokenise(self, text: str, *, scaffold: bool) -> list[Token]:
        """Turn text into tokens; a control token in text that is no scaffold is plain text."""
        data = text.encode()
        # A token stands for one byte at least, but some vocabularies put a space in front.
        room = len(data) + 8
        buffer = (llama_cpp.llama_token * room)()
        with self._kept_open():
            found = llama_cpp.llama_tokenize(
                self._vocab, data, len(data), buffer, room, False, scaffold
            )
        if found < 0:
            raise CommandError(ErrorCode.INVALID_ARGUMENT, "the prompt cannot be tokenised")
        return [Token(token) for token in buffer[:found]]

    def piece(self, token: Token) -> bytes:
        """The bytes of a token; none for control tokens."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._read_piece(token, special=False)
        return piece

    def ends_text(self, token: Token) -> bool:
        """Whether the vocabulary marks the token as an end of generation."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def tokenizer(self) -> llguidance.LLTokenizer:
        """The index of all tokens that constraints are compiled for; the first call takes a while."""
        with self._indexing:
            if self._tokenizer is None:
                self._tokenizer = self._table().tokenizer()
            return self._tokenizer

    def close(self) -> None:
        """Refuse from now on; what is under way is waited for."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._readers)
        with self._indexing:
            # It refers to us, and no collector sees through it: both would stay for ever.
            self._tokenizer = None

    def _table(self) -> TokenTable:
        control = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
        with self._kept_open():
            tokens = [Token(token) for token in range(self.size)]
            special = [
                token
                for token in tokens
                if llama_cpp.llama_vocab_get_attr(self._vocab, token) & control
                or self.ends_text(token)
            ]
            spellings = [self._read_piece(token, special=True) for token in tokens]
        return TokenTable(
            tokens=spellings,
            special_token_ids=special,
            eos_token_id=self._end,
            bos_token_id=None,
            tokenise=lambda text: self.tokenise(text.decode(errors="replace"), scaffold=False),
        )

    @contextmanager
    def _kept_open(self) -> Iterator[None]:
        """Let `close` wait while the body reads; raises CommandError after it."""
        with self._changed:
            if self._closed:
                raise CommandError(
                    ErrorCode.MODEL_LOAD_FAILED, "the model was unloaded just now; try again"
                )
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    def _spelled(self, token: int) -> str:
        text = llama_cpp.llama_vocab_get_text(self._vocab, token) if token >= 0 else b""
        return text.decode(errors="replace") if text else ""

    def _read_piece(self, token: Token, *, special: bool) -> bytes:
        size = 64
        while size <= PIECE_BYTES_MAX:
            buffer = ctypes.create_string_buffer(size)
            used = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, special)
            if used >= 0:
                return buffer.raw[:used]
            size = max(size * 2, -used)
        return b""
