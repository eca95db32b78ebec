"""How many tokens a second a model gives to so many jobs at once."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.outcome import FailedGeneration, Outcome, Piece
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.progress import Phase
from cuttlebone.inference.thread import InferenceThread

WORDS: Final = (
    "the sea was calm and the wind was warm while the ship went on to the next island and"
)
_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the model in each round."""

    concurrency: int
    prompt_words: int
    """Words of each prompt, about as many tokens."""
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """One round: sums over all its generations, and seconds."""

    tokens_in: int
    tokens_out: int
    first_token_s: float
    """From submission to the first token, the mean of all generations."""
    seconds: float
    """From the first submission to the last end."""

    @property
    def tokens_per_s(self) -> float:
        """Generated tokens of all generations together, a second."""
        return self.tokens_out / self.seconds


def warm_up(thread: InferenceThread) -> None:
    """Wait for the model and have one short generation, so that no round pays for first uses.

    Raises OperatorError if the model cannot be served.
    """
    measure(thread, Load(1, prompt_words=4, max_tokens=4))


def measure(
    thread: InferenceThread, load: Load, *, clock: Callable[[], float] = time.monotonic
) -> Throughput:
    """Run one round; raise OperatorError if the model cannot be served or asked for that much.

    Prompts differ from their first word on, and are of another tenant in each round: what is
    measured is the whole work, without what earlier prompts have left in memory.
    """
    if thread.wait_until_settled().phase is Phase.FAILED:
        raise OperatorError(thread.state.reason)
    begun_s = clock()
    try:
        generations = [
            thread.submit(_request(load, number, tenant=str(begun_s)))
            for number in range(load.concurrency)
        ]
    except CommandError as error:
        raise OperatorError(f"{error.message}; measure with shorter prompts or answers") from None
    outcomes = [_outcome(generation) for generation in generations]
    seconds = clock() - begun_s
    for outcome in outcomes:
        if isinstance(outcome, FailedGeneration):
            raise OperatorError(f"a generation failed: {outcome.message}")
    waits = [generation.waited_s + generation.prefill_s for generation in generations]
    return Throughput(
        tokens_in=sum(outcome.tokens_in for outcome in outcomes),
        tokens_out=sum(outcome.tokens_out for outcome in outcomes),
        first_token_s=sum(waits) / len(waits),
        seconds=seconds,
    )


def _request(load: Load, number: int, *, tenant: str) -> GenerationRequest:
    words = (WORDS.split() * (load.prompt_words // len(WORDS.split()) + 1))[: load.prompt_words]
    return GenerationRequest(
        job=str(number),
        tenant=tenant,
        turns=None,
        raw_prompt=" ".join([str(number), *words]),
        max_tokens=load.max_tokens,
    )


def _outcome(generation: Generation) -> Outcome:
    while True:
        delivery = generation.next(_LOOK_S)
        if delivery is not None and not isinstance(delivery, Piece):
            return delivery
