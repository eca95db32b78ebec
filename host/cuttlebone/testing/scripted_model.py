"""A model that needs no file: what it says is a script, what it is asked is checked."""

import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from cuttlebone.generation.request import CompileTerms, Constraint, Grammar, JsonSchema, Sampling
from cuttlebone.inference.constraints import check_grammar, check_schema, json_fault
from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.kv_shape import KvLayout, KvShape
from cuttlebone.inference.model import CompiledConstraint, DecodeFailed, ModelInfo, Run, Slot, Token
from cuttlebone.inference.schema_keeping import kept_schema
from cuttlebone.testing.scripted_memory import END, SPECIAL, ScriptedMemory
from cuttlebone.testing.scripted_sampler import ScriptedConstraint, ScriptedSampler

_LOOK_S: Final = 0.005
"""How often a held decode looks whether it is interrupted."""
_RELEASE_WAIT_S: Final = 30.0


class ScriptedModel:
    """A model without a file: answers by script, and checks what it is asked to evaluate.

    Owner: the inference thread; `hold`, `release`, `fail_on` and `break_down` are for the test's.
    A token is a byte of a prompt or a word of an answer, and a cell remembers which slots share
    it, so that a wrong position, a slot that was not emptied or a cell too many is an error.
    """

    TEMPLATE: Final = (
        "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
        "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )

    def __init__(
        self,
        answers: Mapping[str, str] | None = None,
        *,
        context_tokens: int = 4096,
        cells: int | None = None,
        slots: int = 64,
        template: str | None = TEMPLATE,
        shares_prefixes: bool = True,
        checks_constraints: bool = False,
    ) -> None:
        """`answers` maps a part of a prompt to what is said to it; anything else is answered `ok`.

        With `cells` all sequences share a pool of so many; else each has a whole context to itself.
        What is said is never constrained; with `checks_constraints` the finished text is held to its constraint.
        """
        self._answers = dict(answers or {})
        self._memory = ScriptedMemory()
        self._rows: list[Slot] = []
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
        layout = KvLayout.STREAMS if cells is None else KvLayout.POOL
        self._info = ModelInfo(
            name="fake",
            path=None,
            sha256=None,
            architecture="fake",
            context_tokens=context_tokens,
            kv_shape=KvShape(layout, slots, contexts=slots, generations_max=slots),
            cells=context_tokens * slots if cells is None else cells,
            exact=cells is None,
            trained_context_tokens=context_tokens,
            vocabulary_tokens=1 << 20,
            batch_tokens_max=512,
            chunk_tokens_min=2 if cells is None else 1,
            has_template=template is not None,
            shares_prefixes=shares_prefixes,
            interruptible=True,
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
        return SPECIAL[0]

    @property
    def begins_with(self) -> Token | None:
        """None."""
        return None

    def tokenise(self, text: str, *, scaffold: bool) -> list[Token]:
        """One token a byte, and in a scaffold one a special token."""
        if not scaffold:
            return [Token(byte) for byte in text.encode()]
        tokens: list[Token] = []
        for part in re.split("(" + "|".join(map(re.escape, SPECIAL)) + ")", text):
            if part in SPECIAL:
                tokens.append(Token(END + SPECIAL.index(part)))
            else:
                tokens.extend(Token(byte) for byte in part.encode())
        return tokens

    def piece(self, token: Token) -> bytes:
        """The byte or word; nothing for special tokens."""
        return self._memory.piece(token)

    def ends_text(self, token: Token) -> bool:
        """Only `<|end|>` does."""
        return token == END

    def compile(self, constraint: Constraint, terms: CompileTerms) -> ScriptedConstraint:  # noqa: ARG002  # it does not take long
        """Check the bounds; a grammar accepts everything."""
        match constraint:
            case JsonSchema():
                check_schema(constraint)
                kept_schema(constraint.schema)
                fault = json_fault(constraint.schema)
                return ScriptedConstraint(fault if self._checks_constraints else lambda _text: None)
            case Grammar():
                check_grammar(constraint)
                return ScriptedConstraint(lambda _text: None)

    def sampler(self, sampling: Sampling, constraint: CompiledConstraint | None) -> ScriptedSampler:  # noqa: ARG002  # scripts know none
        """Say the answer of the script, begun with the seed if there is any randomness."""
        opening = f"[{sampling.seed}] " if sampling.temperature else ""
        return ScriptedSampler(self._memory, self._rows.__getitem__, self._script, opening)

    def decode(self, runs: Sequence[Run], interrupt: Interrupt | None = None) -> list[int]:
        """Remember the runs; a decode that is held can be interrupted, and remembers nothing then."""
        self.batches.append(tuple(runs))
        if not self._held(interrupt):
            return []
        if self._breaking is not None:
            error, self._breaking = self._breaking, None
            raise error
        self._rows[:] = [run.slot for run in runs]
        for run in runs:
            self._memory.remember(run)
        if self._memory.cells > self._info.cells:
            raise DecodeFailed(
                f"{self._memory.cells} cells are needed, {self._info.cells} are there"
            )
        for run in runs:
            if any(part in self.said(run.slot) for part in self._failing):
                raise DecodeFailed("this text was scripted to fail")
        return list(range(len(runs)))

    def _held(self, interrupt: Interrupt | None) -> bool:
        """Wait for the release if there is to be one; False if the interrupt came first."""
        if self._released.is_set():
            return True
        self.held.set()
        ends_s = time.monotonic() + _RELEASE_WAIT_S
        while not self._released.wait(_LOOK_S):
            if interrupt is not None and interrupt.asked:
                break
            if time.monotonic() > ends_s:
                raise AssertionError("nobody released a held decode")
        self.held.clear()
        return self._released.is_set()

    def copy(self, source: Slot, target: Slot, tokens: int) -> None:
        """Share the first cells of `source`."""
        self._memory.copy(source, target, tokens)

    def truncate(self, slot: Slot, tokens: int) -> None:
        """Forget the end of a slot."""
        self._memory.truncate(slot, tokens)

    def close(self) -> None:
        """Note it."""
        self.closed = True

    def said(self, slot: Slot) -> str:
        """The text in memory, with special tokens left out."""
        return self._memory.said(slot)

    def _script(self, text: str) -> str:
        return next((answer for part, answer in self._answers.items() if part in text), "ok")
