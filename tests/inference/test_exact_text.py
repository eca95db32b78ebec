"""Neighbours do not matter: random schedules on the real model against each prompt alone."""

import ctypes
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import llama_cpp
import pytest

from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.kv_cells import KvCells, KvRules
from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama import LlamaModel, LlamaOptions
from cuttlebone.inference.llama.loading import tried_options
from cuttlebone.inference.llama.samplers import likeliest
from cuttlebone.inference.model import Run, Slot, Token
from cuttlebone.inference.scheduler import Plan, Scheduler
from cuttlebone.inference.turns import Demand, SequenceId
from inference import alone_program
from inference.alone_program import CONTEXT_TOKENS, digest

pytestmark = pytest.mark.model

STEPS: Final = 8
"""Tokens that are generated after each prompt."""
STREAMS: Final = 5
"""Fewer than sequences: some wait, and what is kept of others goes."""
SIZES: Final = (10, 700)
"""Tokens of a prompt."""
COUNTS: Final = (2, 3, 4, 6, 8, 16)
"""Prompts of a schedule."""
BUDGETS: Final = (1, 2, 3, 5, 31, 64, 100, 256, 512)
"""Prompt tokens of a batch."""
WORDS: Final = (
    *("house", "river", "stone", "market", "winter", "letter", "garden", "clock", "bread", "paper"),
    *("music", "field", "glass", "road", "bridge", "number", "tower", "forest", "candle", "window"),
)


@dataclass(frozen=True, slots=True)
class Alone:
    """A prompt, and what comes of it in a process of its own."""

    prompt: tuple[Token, ...]
    tokens: Sequence[int]
    digests: Sequence[str]


@dataclass(slots=True)
class Going:
    """A sequence under way."""

    alone: Alone
    steps: int
    """After so many it ends; early, if the prompt would go on."""
    slot: Slot | None = None
    tokens: list[Token] = field(default_factory=list)


class Schedules:
    """One model and its memory through one schedule after another, held to what is right."""

    def __init__(self, model: LlamaModel, chance: random.Random) -> None:
        info = model.info
        rules = KvRules.of(info, slots_max=64, kept_share=0.5, shares=True)
        self.model = model
        self.chance = chance
        self.scheduler = Scheduler(
            KvCells(rules),
            batch_tokens_max=info.batch_tokens_max,
            chunk_tokens_min=info.chunk_tokens_min,
        )
        self.going: dict[SequenceId, Going] = {}
        self.numbers = 0
        self.compared = self.copies = self.evicted = self.interrupted = 0

    def run(self, prompts: Sequence[Alone]) -> None:
        """Carry one schedule out to its end."""
        coming = list(prompts)
        while coming or self.going:
            while coming and (not self.going or self.chance.random() < 0.5):
                self._submit(coming.pop())
            self._admit()
            if self.chance.random() < 0.03:
                self._end(self.chance.choice(list(self.going)))
            if self.scheduler.runnable:
                self._evaluate(self.scheduler.plan(self.chance.choice(BUDGETS)))

    def _submit(self, alone: Alone) -> None:
        self.numbers += 1
        key = SequenceId(self.numbers)
        self.going[key] = Going(alone, self.chance.choice([STEPS, self.chance.randint(1, STEPS)]))
        self.scheduler.submit(key, Demand(f"job {key}", "tenant", False, alone.prompt, STEPS))

    def _admit(self) -> None:
        while (admitted := self.scheduler.admit()) is not None:
            for slot in admitted.evicted:
                self.evicted += 1
                self.model.truncate(slot, 0)
            self.going[admitted.sequence].slot = admitted.slot

    def _evaluate(self, plan: Plan) -> None:
        for copy in plan.copies:
            self.copies += 1
            self.model.copy(copy.source, copy.target, copy.tokens)
        keys, runs = [], []
        for key in plan.decode:
            one = self.going[key]
            position = len(one.alone.prompt) + len(one.tokens) - 1
            keys.append(key)
            runs.append(Run(self._slot(key), position, [one.tokens[-1]], wants_logits=True))
        for chunk in plan.prefill:
            prompt, end = self.going[chunk.sequence].alone.prompt, chunk.position + chunk.tokens
            tokens = prompt[chunk.position : end]
            keys.append(chunk.sequence)
            runs.append(
                Run(
                    self._slot(chunk.sequence),
                    chunk.position,
                    tokens,
                    wants_logits=end == len(prompt),
                )
            )
        interrupt = Interrupt()
        if self.chance.random() < 0.1:
            interrupt.ask()
        elif self.chance.random() < 0.2:
            threading.Timer(0.2 * self.chance.random(), interrupt.ask).start()
        done = self.model.decode(runs, interrupt)
        self.interrupted += len(done) < len(runs)
        for chunk in plan.prefill:
            if keys.index(chunk.sequence) in done:
                self.scheduler.evaluated(chunk.sequence, chunk.position + chunk.tokens)
        for index in done:
            if runs[index].wants_logits:
                self._compare(keys[index], index)

    def _compare(self, key: SequenceId, index: int) -> None:
        one, logits = self.going[key], self.model.logits(index)
        step = len(one.tokens)
        assert digest(logits) == one.alone.digests[step], (
            f"step {step} of sequence {key}, a prompt of {len(one.alone.prompt)} tokens"
        )
        one.tokens.append(likeliest(logits))
        assert one.tokens == one.alone.tokens[: step + 1]
        self.compared += 1
        if step + 1 == one.steps:
            self._end(key)

    def _end(self, key: SequenceId) -> None:
        del self.going[key]
        released = self.scheduler.remove(key)
        if released is not None:
            self.model.truncate(released.slot, released.kept_tokens)
            for slot in released.dropped:
                self.model.truncate(slot, 0)

    def _slot(self, key: SequenceId) -> Slot:
        slot = self.going[key].slot
        assert slot is not None
        return slot


def prompt_texts(chance: random.Random, count: int) -> list[str]:
    """Texts of very different lengths, of which some begin alike."""
    shared = " ".join(chance.choices(WORDS, k=150))
    texts = []
    for _ in range(count):
        # As many short ones as long ones on a scale of ratios.
        words = round(SIZES[0] * (SIZES[1] / SIZES[0]) ** chance.random())
        own = " ".join(chance.choices(WORDS, k=words))
        texts.append(
            shared[: chance.randrange(len(shared))] + own if chance.random() < 0.4 else own
        )
    return texts


def evaluated_alone(model: LlamaModel, path: Path, text: str, *, extra_buffers: bool) -> Alone:
    """What a process of its own says of a prompt."""
    prompt = tuple(model.tokenise(text, scaffold=False)[: SIZES[1]])
    asked = {"model": str(path), "extra_buffers": extra_buffers, "prompt": prompt, "steps": STEPS}
    done = subprocess.run(
        [sys.executable, alone_program.__file__],
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    said = json.loads(done.stdout)
    return Alone(prompt, said["tokens"], said["digests"])


@contextmanager
def opened(path: Path, options: LlamaOptions) -> Iterator[LlamaModel]:
    """A model of the test's own."""
    model = LlamaModel(path, options)
    try:
        yield model
    finally:
        model.close()


@pytest.mark.timeout(0)
def test_every_step_has_the_numbers_that_it_has_alone_in_a_fresh_process(
    demo_model: Path, trials: Callable[[int], int], tmp_path: Path
) -> None:
    count = trials(6)
    _hold(demo_model, tmp_path, schedules=count, prompts=max(8, count // 4))


@pytest.mark.timeout(0)
def test_so_it_has_with_weights_of_a_quantiser_that_are_rearranged_when_loaded(
    demo_model: Path, trials: Callable[[int], int], tmp_path: Path
) -> None:
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0, True
    file, source = tmp_path / "q4_0.gguf", str(demo_model).encode()
    made = llama_cpp.llama_model_quantize(source, str(file).encode(), ctypes.byref(params))
    assert made == 0
    count = trials(2)
    _hold(file, tmp_path, schedules=count, prompts=max(4, count // 4))


def _hold(path: Path, folder: Path, *, schedules: int, prompts: int) -> None:
    """Carry random schedules out, on one thread and on two in turn."""
    chance = random.Random(14)
    base = LlamaOptions(context_tokens_max=CONTEXT_TOKENS, kv_shape=KvShape.streams(STREAMS))
    tried, _ = tried_options(path, base, trials=folder)
    options = [replace(tried, threads=threads) for threads in (1, 2)]
    with opened(path, options[0]) as one, opened(path, options[1]) as two:
        corpus = [
            evaluated_alone(one, path, text, extra_buffers=tried.extra_buffers)
            for text in prompt_texts(chance, prompts)
        ]
        runs = [Schedules(model, chance) for model in (one, two)]
        for number in range(schedules):
            # The last two in company, so that streams are short in any case.
            most = number >= schedules - 2
            size = 8 if most else chance.choice(COUNTS)
            runs[number % 2].run(chance.choices(corpus, k=size))
    for happened in ("compared", "copies", "evicted", "interrupted"):
        assert sum(getattr(run, happened) for run in runs) > 0, happened
