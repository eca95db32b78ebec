"""`infer_many`: generations side by side, each with a result or a fault of its own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, assert_never

from cuttlebone.commands.infer import generation_request, granted_model, tell_if_loading
from cuttlebone.commands.scope import Model, Scope
from cuttlebone.errors import CommandError
from cuttlebone.inference.generation import (
    FailedGeneration,
    Finished,
    Generation,
    Outcome,
)
from cuttlebone_abi import (
    ErrorCode,
    Failure,
    Finish,
    InferFault,
    InferMany,
    InferManyDone,
    InferResult,
)

REQUESTS_MAX: Final = 256
"""Requests of one command."""
LOOK_S: Final = 0.2
"""How often all generations are looked at, while one of them is waited for."""


def carry_out_infer_many(command: InferMany, scope: Scope) -> InferManyDone:
    """Generate side by side; raise CommandError, or JobError when the job ends with it."""
    model = granted_model(scope, "infer_many")
    if len(command.requests) > REQUESTS_MAX:
        raise CommandError(
            ErrorCode.INVALID_ARGUMENT,
            f"infer_many: {len(command.requests)} requests, but at most {REQUESTS_MAX} at once",
        )
    started = scope.budget.elapsed_s
    generations: list[Generation | CommandError] = []
    try:
        generations.extend(
            _submitted(command, scope, model, number) for number in range(len(command.requests))
        )
        submitted = [one for one in generations if isinstance(one, Generation)]
        if submitted:
            tell_if_loading(scope, model)
        with _stoppable(scope, submitted) as live:
            outcomes = [_outcome(one, scope, live) for one in generations]
    finally:
        for one in generations:
            if isinstance(one, Generation):
                one.cancel()  # does nothing to one that has finished
                scope.budget.spend_tokens(one.tokens_in, one.tokens_out)
                scope.prefill_s += one.prefill_s
                scope.decode_s += one.decode_s
        scope.infer_s += scope.budget.elapsed_s - started
    scope.budget.check()
    if scope.budget.tokens_out_left < 0:
        raise scope.budget.tokens_out_exceeded()
    return InferManyDone(
        results=tuple(
            _result(outcome, command.requests[at].max_tokens, scope)
            for at, outcome in enumerate(outcomes)
        )
    )


def _submitted(
    command: InferMany, scope: Scope, model: Model, number: int
) -> Generation | CommandError:
    try:
        request = generation_request(
            command.requests[number], scope, model, asks_verdict=False, number=number
        )
        scope.budget.spend_infer_call()
        generation = model.generator.submit(request)
    except CommandError as error:
        return error
    scope.served_by = model.role
    return generation


class _Together:
    """Waits as long as none of its generations has its place: one that has works for the job."""

    def __init__(self, generations: Sequence[Generation]) -> None:
        self._generations = generations

    @property
    def waited_s(self) -> float:
        """Seconds until the first was admitted, or until now."""
        return min((generation.waited_s for generation in self._generations), default=0.0)


@contextmanager
def _stoppable(scope: Scope, generations: Sequence[Generation]) -> Iterator[Sequence[Generation]]:
    def let_go() -> None:
        for generation in generations:
            generation.cancel()
            generation.wake()

    with scope.budget.waiting_for(_Together(generations)), scope.budget.when_stopped(let_go):
        yield generations


def _outcome(
    one: Generation | CommandError, scope: Scope, live: Sequence[Generation]
) -> Outcome | CommandError:
    """Wait for one generation, with an eye on what all of them spend."""
    if isinstance(one, CommandError):
        return one
    while True:
        delivery = one.next(timeout_s=LOOK_S)
        scope.budget.check()
        scope.budget.check_tokens_in(sum(generation.tokens_in for generation in live))
        if sum(generation.tokens_out for generation in live) > scope.budget.tokens_out_left:
            raise scope.budget.tokens_out_exceeded()
        if isinstance(delivery, Finished | FailedGeneration):
            return delivery


def _result(
    outcome: Outcome | CommandError, tokens_asked: int, scope: Scope
) -> InferResult | InferFault:
    match outcome:
        case Finished():
            # Cut by what the job may spend and not by what was asked for: that is the job's end.
            if outcome.finish is Finish.LENGTH and outcome.tokens_out < tokens_asked:
                raise scope.budget.tokens_out_exceeded()
            scope.tokens_cached += outcome.tokens_cached
            return InferResult(
                text=outcome.text,
                tokens_out=outcome.tokens_out,
                finish=outcome.finish,
                tokens_in=outcome.tokens_in,
                tokens_cached=outcome.tokens_cached,
                seed=outcome.seed,
            )
        case FailedGeneration(code, message) | CommandError(code=code, message=message):
            return InferFault(error=Failure(code=code, message=message))
        case _:
            assert_never(outcome)
