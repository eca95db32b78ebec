"""`infer`: one generation, its pieces shown to the guest, its cost counted whatever happens."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final, assert_never

from cuttlebone.commands.scope import GrantedModel, JobScope
from cuttlebone.errors import CommandError, JobError
from cuttlebone.generation.outcome import FailedGeneration, Finished, Piece
from cuttlebone.generation.request import (
    Constraint,
    GenerationRequest,
    Grammar,
    JsonSchema,
    Sampling,
    Turn,
)
from cuttlebone.generation.ticket import Generation
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode, Infer, InferDone, InferRequest, Message

AskVerdict = Callable[[str], bool]
"""Asks the guest whether to stop after a piece of text."""

_NOT_SERVED: Final = ("images",)


def carry_out_infer(command: Infer, scope: JobScope, verdict: AskVerdict | None) -> InferDone:
    """Generate; raise CommandError, or JobError when the job ends with it.

    `verdict` is None for a guest that does not want to see its tokens.
    """
    model = granted_model(scope, "infer")
    request = generation_request(
        command,
        scope,
        model,
        tokens_left=scope.budget.tokens_out_left,
        asks_verdict=verdict is not None,
    )
    with (
        scope.account.inferring(),
        model.inference.open(model.role, request, scope.account) as generation,
    ):
        tell_if_loading(scope, model)
        with (
            scope.budget.waiting_for(generation),
            scope.budget.when_stopped(lambda: _let_go(generation)),
        ):
            finished = _follow(generation, scope, verdict)
    scope.budget.check()
    return InferDone(**asdict(finished))


def _let_go(generation: Generation) -> None:
    """Cancel, and do not wait for the tick that sees it: a long prefill may be under way."""
    generation.cancel()
    generation.wake()


def _follow(generation: Generation, scope: JobScope, verdict: AskVerdict | None) -> Finished:
    """Take the deliveries of a generation one by one until its last."""
    while True:
        delivery = generation.next(timeout_s=None)
        scope.budget.check()
        scope.budget.check_tokens_in(generation.tokens_in)
        match delivery:
            case None:
                continue
            case Piece(text):
                scope.events.token(text)
                if verdict is not None:
                    generation.verdict(verdict(text))
            case Finished():
                return delivery
            case FailedGeneration(ErrorCode.CANCELLED, message):
                # The model went away under the job; a cancellation is never the guest's to handle.
                scope.budget.stop(JobError(ErrorCode.CANCELLED, message))
                scope.budget.check()
            case FailedGeneration(code, message):
                raise CommandError(code, message)
            case _:
                assert_never(delivery)


def granted_model(scope: JobScope, command: str) -> GrantedModel:
    """The model of the job; raise CommandError for a job that was given none."""
    if scope.model is None:
        raise CommandError(
            ErrorCode.CAPABILITY_DENIED,
            f"{command}: this spec grants no model; name one as `model:`",
        )
    return scope.model


def tell_if_loading(scope: JobScope, model: GrantedModel) -> None:
    """Tell the watchers why nothing happens, if what was submitted waits for the model."""
    if not model.inference.ready(model.role):
        scope.events.waiting(f"the model `{printable(model.role)}` to be loaded")


def generation_request(
    command: InferRequest,
    scope: JobScope,
    model: GrantedModel,
    *,
    tokens_left: int,
    asks_verdict: bool,
    number: int | None = None,
) -> GenerationRequest:
    """What the model is asked for; raise CommandError, or JobError if no token is left to generate.

    `max_tokens` is an upper bound: it is lowered to what the spec allows and to `tokens_left`, which
    the job may still spend on this request. `number` tells the requests of one command apart, so
    that each has a seed of its own.
    """
    for field in _NOT_SERVED:
        if getattr(command, field) is not None:
            raise CommandError(
                ErrorCode.UNSUPPORTED, f"infer: this host does not serve the field `{field}` yet"
            )
    if command.max_tokens < 1:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, "infer: `max_tokens` must be at least 1")
    if tokens_left < 1:
        raise scope.budget.tokens_out_exceeded()
    return GenerationRequest(
        job=scope.job,
        tenant=scope.tenant,
        turns=_turns(command, model.defaults),
        raw_prompt=command.prompt if command.raw else None,
        max_tokens=min(command.max_tokens, model.defaults.max_tokens_max, tokens_left),
        sampling=_sampling(command, scope, model, number),
        stop=command.stop,
        asks_verdict=asks_verdict,
        interactive=scope.interactive,
        constraint=_constraint(command),
        default_system=model.defaults.system.use != "none",
        compile_ms=scope.budget.limits.compile_ms,
        check_wanted=scope.budget.check,
    )


def _constraint(command: InferRequest) -> Constraint | None:
    if command.json_schema is not None and command.grammar is not None:
        raise CommandError(
            ErrorCode.INVALID_ARGUMENT, "infer: give either `json_schema` or `grammar`, not both"
        )
    if command.json_schema is not None:
        return JsonSchema(command.json_schema)
    return Grammar(command.grammar) if command.grammar is not None else None


def _turns(command: InferRequest, defaults: InferDefaults) -> tuple[Turn, ...] | None:
    if command.messages is not None:
        return turns_of(command.messages, defaults)
    said = (Message(role="user", content=command.prompt or ""),)
    return None if command.raw else turns_of(said, defaults)


def _sampling(
    command: InferRequest, scope: JobScope, model: GrantedModel, number: int | None
) -> Sampling:
    fields = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "seed")
    stated = {name: getattr(command, name) for name in fields}
    chosen = {
        name: value if value is not None else getattr(model.defaults, name)
        for name, value in stated.items()
    }
    if chosen["seed"] is None:
        chosen["seed"] = _derived_seed(scope, number)
    return Sampling(**chosen, repeat_last=model.defaults.repeat_last)


def turns_of(messages: Sequence[Message], defaults: InferDefaults) -> tuple[Turn, ...]:
    """Messages of a guest as turns of a conversation, after the system message of the spec if need be."""
    turns = tuple(Turn(message.role, message.content) for message in messages)
    text = defaults.system.text
    if text is None or (turns[:1] and turns[0].role == "system"):
        return turns
    return (Turn("system", text), *turns)


def _derived_seed(scope: JobScope, number: int | None) -> int:
    """A seed that a replay of the same job derives again."""
    name = f"{scope.job}:{scope.budget.steps}" + ("" if number is None else f":{number}")
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
