"""Models that need no file."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from cuttlebone.generation.request import Constraint, Grammar, JsonSchema, Sampling
from cuttlebone.inference.constraints import Fault, check_grammar, check_schema, json_fault
from cuttlebone.inference.model import CompiledConstraint, DecodeFailed, ModelInfo, Run, Slot, Token

_RELEASE_WAIT_S: Final = 30.0


class FakeModel:
    """A model without a file: answers by script, and checks what it is asked to evaluate.

    Owner: the inference thread; `hold`, `release`, `fail_on` and `break_down` are for the test's.
    A token is a byte of a prompt or a word of an answer, and a cell remembers which slots share
    it, so that a wrong position, a slot that was not emptied or a cell too many is an error.
    """

    TEMPLATE: Final = (
        "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
        "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    SPECIAL: Final = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
    _FIRST_WORD: Final = 512

    def __init__(
        self,
        answers: Mapping[str, str] | None = None,
        *,
        context_tokens: int = 4096,
        cells: int = 8192,
        slots: int = 64,
        template: str | None = TEMPLATE,
        shares_prefixes: bool = True,
        checks_constraints: bool = False,
    ) -> None:
        """`answers` maps a part of a prompt to what is said to it; anything else is answered `ok`.

        What is said is never constrained; with `checks_constraints` the finished text is held to its constraint.
        """
        self._answers = dict(answers or {})
        self._words: list[bytes] = []
        self._memory: dict[int, list[tuple[Token, int]]] = {}
        self._cells_used = count()
        self._rows: list[int] = []
        self._released = threading.Event()
        self._released.set()
        self._failing: tuple[str, ...] = ()
        self._breaking: BaseException | None = None
        self.held = threading.Event()
        """Set while a decode is being held."""
        self.batches: list[tuple[Run, ...]] = []
        """What was evaluated, in order."""
        self.closed = False
        self._template = template
        self._checks_constraints = checks_constraints
        self._info = ModelInfo(
            name="fake",
            path=None,
            sha256=None,
            architecture="fake",
            context_tokens=context_tokens,
            cells=cells,
            trained_context_tokens=context_tokens,
            vocabulary_tokens=1 << 20,
            slots=slots,
            batch_tokens_max=512,
            has_template=template is not None,
            shares_prefixes=shares_prefixes,
            memory_bytes=1 << 20,
        )

    # For the test.

    def hold(self) -> None:
        """Let the next decode wait for `release`."""
        self._released.clear()

    def release(self) -> None:
        """Let a held decode, and all that follow, go on."""
        self._released.set()

    def fail_on(self, *parts: str) -> None:
        """From now on fail each batch with a sequence whose text contains one of `parts`."""
        self._failing = parts

    def break_down(self, error: BaseException) -> None:
        """Raise `error` from the next decode, as a bug would."""
        self._breaking = error

    # The protocol.

    @property
    def info(self) -> ModelInfo:
        """What the constructor was told."""
        return self._info

    @property
    def template(self) -> str | None:
        """The template of the constructor."""
        return self._template

    @property
    def begin_text(self) -> str:
        """None: templates do without."""
        return ""

    @property
    def end_text(self) -> str:
        """The token that ends a text."""
        return "<|end|>"

    @property
    def begins_with(self) -> Token | None:
        """None."""
        return None

    def tokenise(self, text: str, *, scaffold: bool) -> list[Token]:
        """One token a byte, and in a scaffold one a special token."""
        if not scaffold:
            return [Token(byte) for byte in text.encode()]
        tokens: list[Token] = []
        for part in re.split("(" + "|".join(map(re.escape, self.SPECIAL)) + ")", text):
            if part in self.SPECIAL:
                tokens.append(Token(256 + self.SPECIAL.index(part)))
            else:
                tokens.extend(Token(byte) for byte in part.encode())
        return tokens

    def piece(self, token: Token) -> bytes:
        """The byte or word; nothing for special tokens."""
        if token < 256:
            return bytes([token])
        return self._words[token - self._FIRST_WORD] if token >= self._FIRST_WORD else b""

    def ends_text(self, token: Token) -> bool:
        """Only `<|end|>` does."""
        return token == 256

    def compile(self, constraint: Constraint) -> "FakeConstraint":
        """Check the bounds; a grammar accepts everything."""
        match constraint:
            case JsonSchema():
                check_schema(constraint)
                fault = json_fault(constraint)
                return FakeConstraint(fault if self._checks_constraints else lambda _text: None)
            case Grammar():
                check_grammar(constraint)
                return FakeConstraint(lambda _text: None)

    def sampler(self, sampling: Sampling, constraint: CompiledConstraint | None) -> "FakeSampler":  # noqa: ARG002  # scripts know none
        """Say the answer of the script, begun with the seed if there is any randomness."""
        return FakeSampler(self, f"[{sampling.seed}] " if sampling.temperature else "")

    def decode(self, runs: Sequence[Run]) -> list[int]:
        """Remember the runs."""
        self.batches.append(tuple(runs))
        if not self._released.is_set():
            self.held.set()
            if not self._released.wait(_RELEASE_WAIT_S):
                raise AssertionError("nobody released a held decode")
            self.held.clear()
        if self._breaking is not None:
            error, self._breaking = self._breaking, None
            raise error
        self._rows = []
        for run in runs:
            self._remember(run)
        live = {cell for memory in self._memory.values() for _, cell in memory}
        if len(live) > self._info.cells:
            raise DecodeFailed(f"{len(live)} cells are needed, {self._info.cells} are there")
        for run in runs:
            if any(part in self.said(run.slot) for part in self._failing):
                raise DecodeFailed("this text was scripted to fail")
        return [len(self._rows[: at + 1]) - 1 for at in range(len(runs))]

    def copy(self, source: Slot, target: Slot, tokens: int) -> None:
        """Share the first cells of `source`."""
        if self._memory.get(target):
            raise AssertionError(f"slot {target} is not empty")
        if tokens > len(self._memory.get(source, [])):
            raise AssertionError(f"slot {source} does not hold {tokens} tokens")
        self._memory[target] = self._memory[source][:tokens]

    def truncate(self, slot: Slot, tokens: int) -> None:
        """Forget the end of a slot."""
        self._memory[slot] = self._memory.get(slot, [])[:tokens]

    def close(self) -> None:
        """Note it."""
        self.closed = True

    def said(self, slot: int) -> str:
        """The text in memory, with special tokens left out."""
        return b"".join(self.piece(token) for token, _ in self._memory.get(slot, [])).decode(
            errors="replace"
        )

    def script(self, row: int) -> str:
        """What the script answers to the text that row number `row` ends."""
        text = self.said(self._rows[row])
        return next((answer for part, answer in self._answers.items() if part in text), "ok")

    def word(self, text: bytes) -> Token:
        """The token of a word of an answer."""
        if text not in self._words:
            self._words.append(text)
        return Token(self._FIRST_WORD + self._words.index(text))

    def last(self, row: int, tokens: int) -> list[Token]:
        """The last tokens of the text that row number `row` ends."""
        memory = self._memory[self._rows[row]]
        return [token for token, _ in memory[len(memory) - tokens :]]

    def _remember(self, run: Run) -> None:
        memory = self._memory.setdefault(run.slot, [])
        if run.position != len(memory) or not run.tokens:
            raise AssertionError(
                f"slot {run.slot} holds {len(memory)} tokens, but {len(run.tokens)} tokens "
                f"came for position {run.position}"
            )
        memory.extend((token, next(self._cells_used)) for token in run.tokens)
        self._rows.append(run.slot)


class FakeSampler:
    """Says the answer of the script word by word, then the end; a word is a run of non-spaces."""

    def __init__(self, model: FakeModel, opening: str) -> None:
        self._model = model
        self._opening = opening
        self._answer: list[Token] | None = None
        self._said = 0

    def pick(self, row: int) -> Token:
        """Say the next word, if what was said so far is in memory."""
        if self._answer is None:
            words = re.findall(r"\s*\S+|\s+$", self._opening + self._model.script(row))
            self._answer = [self._model.word(word.encode()) for word in words]
        if self._model.last(row, self._said) != self._answer[: self._said]:
            raise AssertionError("the memory does not end with what was said")
        if self._said == len(self._answer):
            return Token(256)
        self._said += 1
        return self._answer[self._said - 1]

    def close(self) -> None:
        """Nothing to do."""


@dataclass(frozen=True, slots=True)
class FakeConstraint:
    """A constraint that is checked at the end only, so that scripts can break it."""

    faults: Fault

    def fault(self, text: str) -> str | None:
        """What is wrong with a finished text."""
        return self.faults(text)
