"""Generations that end when a test says so, in the thread of the test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cuttlebone.generation.outcome import FailedGeneration, Finished, Outcome
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone.testing.scripted_generation import prompt_of
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


def by_hand(at_once: Mapping[str, Outcome] | None = None) -> ScriptedEndpoint:
    """An endpoint whose generations a test ends; those with their outcome `at_once` end as they come."""
    endpoint = ScriptedEndpoint(at_once)
    endpoint.hold()
    return endpoint


def prompts(requests: Sequence[GenerationRequest]) -> list[str]:
    return [prompt_of(request) for request in requests]


@dataclass(slots=True)
class Kept:
    """Parts that remember what they keep, and call `then` with its number."""

    recalled: Mapping[int, InferResult] = field(default_factory=dict)
    then: Callable[[int], None] = lambda _number: None
    kept: list[tuple[int, str]] = field(default_factory=list)

    def keep(self, number: int, result: InferResult) -> None:
        self.kept.append((number, result.text))
        self.then(number)
