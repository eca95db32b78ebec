"""Generations that end when a test says so, in the thread of the test."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cuttlebone.generation.outcome import FailedGeneration, Finished, Outcome
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.ticket import CancelAsked, Generation, VerdictGiven
from cuttlebone.inference.prompts import TokenCounter
from cuttlebone_abi import ErrorCode, Finish, InferResult

TOKENS_IN, TOKENS_OUT = 5, 3


def finished(text: str, *, tokens_out: int = TOKENS_OUT, finish: Finish = Finish.EOS) -> Finished:
    return Finished(
        text, finish, tokens_in=TOKENS_IN, tokens_out=tokens_out, tokens_cached=2, seed=1
    )


def result(text: str, *, tokens_out: int = TOKENS_OUT) -> InferResult:
    return InferResult(
        text=text,
        tokens_out=tokens_out,
        finish=Finish.EOS,
        tokens_in=TOKENS_IN,
        tokens_cached=2,
        seed=1,
    )


BROKEN = FailedGeneration(ErrorCode.INFER_FAILED, "broken", TOKENS_IN, 1)


class GeneratorByHand:
    """Where generations are submitted; `end` ends one, and those `at_once` end as they come."""

    def __init__(self, at_once: Mapping[str, Outcome] | None = None) -> None:
        self.submitted: list[GenerationRequest] = []
        self.cancelled: set[str] = set()
        self._at_once = dict(at_once or {})
        self._generations: dict[str, Generation] = {}

    @property
    def loaded(self) -> bool:
        return True

    @property
    def prompts(self) -> list[str]:
        return [_prompt(request) for request in self.submitted]

    def submit(self, request: GenerationRequest) -> Generation:
        prompt = _prompt(request)
        self.submitted.append(request)
        self._generations[prompt] = Generation(request, self._hear, time.monotonic)
        self._generations[prompt].admit()
        if prompt in self._at_once:
            self.end(prompt, self._at_once[prompt])
        return self._generations[prompt]

    def counter(self, timeout_s: float) -> TokenCounter | None:
        raise AssertionError(f"nobody counts here, but somebody did for {timeout_s} s")

    def end(self, prompt: str, outcome: Outcome) -> None:
        generation = self._generations[prompt]
        generation.spend(tokens_in=outcome.tokens_in, tokens_out=outcome.tokens_out)
        generation.end(outcome)

    def _hear(self, message: VerdictGiven | CancelAsked, /) -> None:
        if not message.generation.ended:
            self.cancelled.add(_prompt(message.generation.request))


def _prompt(request: GenerationRequest) -> str:
    assert request.turns is not None
    return request.turns[-1].content


@dataclass(slots=True)
class Kept:
    """Parts that remember what they keep, and call `then` with its number."""

    recalled: Mapping[int, InferResult] = field(default_factory=dict)
    then: Callable[[int], None] = lambda _number: None
    kept: list[tuple[int, str]] = field(default_factory=list)

    def keep(self, number: int, result: InferResult) -> None:
        self.kept.append((number, result.text))
        self.then(number)
