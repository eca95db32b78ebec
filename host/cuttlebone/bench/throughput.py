"""How many tokens a second a model gives to so many jobs at once."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.inference import Inference
from cuttlebone.generation.outcome import FailedGeneration, Outcome, Piece
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.spent import Spent
from cuttlebone.generation.ticket import Generation
from cuttlebone_abi import ErrorCode

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


class _Tally:
    """An account without a quota, which remembers what each generation cost."""

    def __init__(self) -> None:
        self.spent: list[Spent] = []

    def admit(self) -> None:
        """Admit whatever is asked for."""

    def charge(self, spent: Spent) -> None:
        """Remember it."""
        self.spent.append(spent)


def warm_up(inference: Inference, role: str) -> None:
    """Wait for the model and have one short generation, so that no round pays for first uses.

    Raises OperatorError if the model cannot be served.
    """
    measure(inference, role, Load(1, prompt_words=4, max_tokens=4))


def measure(
    inference: Inference, role: str, load: Load, *, clock: Callable[[], float] = time.monotonic
) -> Throughput:
    """Run one round; raise OperatorError if the model cannot be served or asked for that much.

    Prompts differ from their first word on, and are of another tenant in each round: what is
    measured is the whole work, without what earlier prompts have left in memory.
    """
    tally, begun_s = _Tally(), clock()
    requests = [_request(load, number, tenant=str(begun_s)) for number in range(load.concurrency)]
    try:
        with ExitStack() as opened:
            generations = [
                opened.enter_context(inference.open(role, request, tally)) for request in requests
            ]
            outcomes = [_outcome(generation) for generation in generations]
            seconds = clock() - begun_s
    except CommandError as error:
        raise _refusal(error) from None
    for outcome in outcomes:
        if isinstance(outcome, FailedGeneration):
            raise OperatorError(f"a generation failed: {outcome.message}")
    return Throughput(
        tokens_in=sum(spent.tokens_in for spent in tally.spent),
        tokens_out=sum(spent.tokens_out for spent in tally.spent),
        first_token_s=sum(spent.waited_s + spent.prefill_s for spent in tally.spent)
        / len(tally.spent),
        seconds=seconds,
    )


def _refusal(error: CommandError) -> OperatorError:
    if error.code is ErrorCode.MODEL_LOAD_FAILED:
        return OperatorError(error.message)
    return OperatorError(f"{error.message}; measure with shorter prompts or answers")


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
