"""`infer_many`: generations side by side, each with a result or a fault of its own."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from typing import Final, Protocol, assert_never

from cuttlebone.commands.infer import generation_request, granted_model, tell_if_loading
from cuttlebone.commands.scope import GrantedModel, JobScope
from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import FailedGeneration, Finished, Outcome
from cuttlebone.generation.ticket import Generation
from cuttlebone_abi import (
    ErrorCode,
    Failure,
    InferFault,
    InferMany,
    InferManyDone,
    InferResult,
)

REQUESTS_MAX: Final = 256
"""Requests of one command."""
LOOK_S: Final = 0.2
"""How often all generations are looked at, while the first of them is waited for."""


class Parts(Protocol):
    """Where the generations of one `infer_many` are kept, each by itself, until all have ended."""

    @property
    def recalled(self) -> Mapping[int, InferResult]:
        """What those that an earlier attempt paid for came to, by the numbers of their requests."""

    def keep(self, number: int, result: InferResult) -> None:
        """Keep what a generation came to: once this returns it is never paid for again."""


def carry_out_infer_many(command: InferMany, scope: JobScope, parts: Parts) -> InferManyDone:
    """Generate side by side; raise CommandError, or JobError when the job ends with it.

    What `parts` recalls is not generated, but counts as if it were.
    """
    model = granted_model(scope, "infer_many")
    if len(command.requests) > REQUESTS_MAX:
        raise CommandError(
            ErrorCode.INVALID_ARGUMENT,
            f"infer_many: {len(command.requests)} requests, but at most {REQUESTS_MAX} at once",
        )
    together = _Together(command, scope, model, parts)
    with scope.account.inferring(), ExitStack() as opened:
        together.submit(opened)
        together.charge_recalled()
        with scope.budget.waiting_for(together), scope.budget.when_stopped(together.let_go):
            together.wait()
    scope.budget.check()
    return InferManyDone(results=together.results)


def shared_out(wanted: Sequence[int], left: int) -> Sequence[int]:
    """What each may spend of `left`: what it wants, or, where that is too much, no less than another.

    Settled beforehand, so that no text depends on which generation is the first to need its tokens.
    """
    shares = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, number in enumerate(order):
        fair = -(-left // (len(order) - place))
        shares[number] = min(wanted[number], fair)
        left -= shares[number]
    return shares


class _Together:
    """The generations of one command. Owner: the job thread; `waited_s` and `let_go` are for any.

    Invariant: after `submit` each request has its result, or a generation that is under way.
    """

    def __init__(
        self, command: InferMany, scope: JobScope, model: GrantedModel, parts: Parts
    ) -> None:
        self._requests = command.requests
        self._scope = scope
        self._model = model
        self._parts = parts
        self._results: dict[int, InferResult | InferFault] = dict(parts.recalled)
        self._generations: dict[int, Generation] = {}
        self._under_way: dict[int, Generation] = {}

    @property
    def waited_s(self) -> float:
        """Seconds until the first was admitted, or until now.

        As long as none has its place: one that has works for the job.
        """
        return min((one.waited_s for one in self._generations.values()), default=0.0)

    @property
    def results(self) -> tuple[InferResult | InferFault, ...]:
        """What all came to, in the order of the requests."""
        return tuple(self._results[number] for number in range(len(self._requests)))

    def submit(self, opened: ExitStack) -> None:
        """Submit what has no result yet; what is refused has its fault for a result.

        Each is charged when `opened` is closed: what the others may spend is as before till then.
        """
        for _ in self._parts.recalled:
            self._scope.account.admit()
        allowed = self._model.defaults.max_tokens_max
        wanted = [min(request.max_tokens, allowed) for request in self._requests]
        shares = shared_out(wanted, self._scope.budget.tokens_out_left)
        for number, share in enumerate(shares):
            if number not in self._results:
                self._scope.budget.check()
                try:
                    self._generations[number] = opened.enter_context(self._opened(number, share))
                except CommandError as error:
                    self._results[number] = _fault(error.code, error.message)
        self._under_way.update(self._generations)
        if self._generations:
            tell_if_loading(self._scope, self._model)

    def charge_recalled(self) -> None:
        """Count what was paid for before.

        Only after the others were submitted: what each of those may spend is then as it was before.
        """
        for result in self._parts.recalled.values():
            self._scope.account.recall(
                self._model.role, tokens_in=result.tokens_in, tokens_out=result.tokens_out
            )

    def wait(self) -> None:
        """Wait until all have ended; keep those that ended well soon after their ends.

        Faults are not kept: another attempt may do better. Nor is what ended last: the answer to
        the whole command follows at once.
        """
        while self._under_way:
            next(iter(self._under_way.values())).next(timeout_s=LOOK_S)
            ended = [number for number, one in self._under_way.items() if one.ended]
            for number in ended:
                self._results[number] = self._result(self._under_way.pop(number))
            if self._under_way:
                self._keep(ended)
            self._check_spent()

    def let_go(self) -> None:
        """Cancel all, and do not wait for the tick that sees it."""
        for one in self._generations.values():
            one.cancel()
            one.wake()

    def _opened(self, number: int, share: int) -> AbstractContextManager[Generation]:
        request = generation_request(
            self._requests[number],
            self._scope,
            self._model,
            tokens_left=share,
            asks_verdict=False,
            number=number,
        )
        return self._model.inference.open(self._model.role, request, self._scope.account)

    def _keep(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            result = self._results[number]
            if isinstance(result, InferResult):
                self._parts.keep(number, result)

    def _check_spent(self) -> None:
        budget, generations = self._scope.budget, self._generations.values()
        budget.check()
        budget.check_tokens_in(sum(one.tokens_in for one in generations))

    def _result(self, generation: Generation) -> InferResult | InferFault:
        outcome = _outcome(generation)
        match outcome:
            case Finished():
                return InferResult(**asdict(outcome))
            case FailedGeneration(code, message):
                return _fault(code, message)
            case _:
                assert_never(outcome)


def _outcome(generation: Generation) -> Outcome:
    """What a generation that has ended came to; its pieces are left."""
    while True:
        delivery = generation.next(timeout_s=0)
        if isinstance(delivery, Finished | FailedGeneration):
            return delivery


def _fault(code: ErrorCode, message: str) -> InferFault:
    return InferFault(error=Failure(code=code, message=message))
