"""The step loop: a guest, a scope and an input in, an envelope out. Never raises."""

import uuid
from collections.abc import Callable
from typing import assert_never

import structlog

from cuttlebone.commands.account import JobAccount
from cuttlebone.commands.count_tokens import carry_out_count_tokens
from cuttlebone.commands.emit import carry_out_emit
from cuttlebone.commands.files import carry_out_file_command
from cuttlebone.commands.infer import AskVerdict, carry_out_infer
from cuttlebone.commands.infer_many import carry_out_infer_many
from cuttlebone.commands.scope import JobScope
from cuttlebone.errors import BlockRefused, CommandError, Interrupted, JobError
from cuttlebone.execution.ending import stopped
from cuttlebone.execution.recorder import CarriedOut, StepJournal, unrecorded
from cuttlebone.job.journal import JournalEntry
from cuttlebone.sandbox import Guest
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone_abi import (
    Answered,
    Close,
    Completed,
    CountTokens,
    Done,
    Emit,
    Envelope,
    ErrorCode,
    ErrorEvent,
    Event,
    Fail,
    Failed,
    Failure,
    Infer,
    InferMany,
    List,
    MalformedMessage,
    NotOffered,
    Open,
    OversizedMessage,
    Slice,
    SliceBytes,
    Usage,
    decode_command,
    dump_json,
)

GUEST_FAULTS = (JobError, CommandError, MalformedMessage, BlockRefused)

_log = structlog.get_logger(__name__)


def run_job(
    guest: Guest,
    scope: JobScope,
    io_schemas: IoSchemas,
    written_input: bytes,
    recorder: StepJournal | None = None,
) -> Envelope:
    """Step `guest` from its input to its end. Whatever a guest does, there is an envelope.

    `written_input` is JSON, and is handed to the guest as it is. Without a `recorder` no journal is kept.
    """
    try:
        outcome = _outcome(guest, scope, io_schemas, recorder or unrecorded(), written_input)
    except Exception:  # noqa: BLE001  # the last resort: a bug of ours still ends in an envelope
        outcome = internal_fault(scope.job, scope.tenant)
    scope.budget.settle()  # from here on nothing from outside ends it
    if (cause := scope.budget.end) is not None:
        return stopped(cause, _usage(scope))
    match outcome:
        case Done(result=result):
            return Completed(result=result, usage=_usage(scope))
        case Failure():
            return Failed(error=outcome, usage=_usage(scope))
        case _:
            assert_never(outcome)


def _outcome(
    guest: Guest,
    scope: JobScope,
    io_schemas: IoSchemas,
    recorder: StepJournal,
    written_input: bytes,
) -> Done | Failure:
    try:
        with scope.budget.when_stopped(guest.interrupt):
            end = _steps(guest, scope, recorder, written_input)
        if isinstance(end, Fail):
            return Failure(code=end.code, message=end.message)
        io_schemas.check_result(end.result)
        return end
    except JobError as error:
        return _last_words(error, scope) or failure_of(error)
    except (CommandError, MalformedMessage, BlockRefused) as error:
        return failure_of(error)
    except Interrupted as error:
        # Whoever interrupted has stopped the budget first, and its cause will stand instead.
        return Failure(code=ErrorCode.INTERNAL, message=str(error))


def _last_words(error: JobError, scope: JobScope) -> Failure | None:
    """How a guest that trapped says why itself. Only a `fail` counts: nothing else may follow a trap."""
    limits = scope.budget.limits
    try:
        words = decode_command(
            error.last_words,
            bytes_max=limits.command_bytes,
            depth_max=limits.json_depth,
            nodes_max=limits.json_nodes,
        )
    except MalformedMessage:
        return None
    return Failure(code=words.code, message=words.message) if isinstance(words, Fail) else None


def failure_of(error: JobError | CommandError | MalformedMessage | BlockRefused) -> Failure:
    """How an envelope says what a guest, or its job, did wrong."""
    match error:
        case JobError(code=code, message=message) | CommandError(code=code, message=message):
            return Failure(code=code, message=message)
        case OversizedMessage(limit=limit, reason=reason):
            return Failure(code=ErrorCode.LIMIT_EXCEEDED, message=f"{limit}: {reason}")
        case MalformedMessage() | BlockRefused():
            return Failure(code=ErrorCode.WASM_TRAP, message=str(error))
        case _:
            assert_never(error)


def _steps(
    guest: Guest, scope: JobScope, recorder: StepJournal, written_input: bytes
) -> Done | Fail:
    limits = scope.budget.limits
    scope.budget.spend_step()
    reply = _called(guest.init, written_input, "step 1, with the input of the job")
    while True:
        command = decode_command(
            reply,
            bytes_max=limits.command_bytes,
            depth_max=limits.json_depth,
            nodes_max=limits.json_nodes,
        )
        if isinstance(command, Done | Fail):
            return command
        event = _answer(command, reply, guest, scope, recorder)
        scope.budget.spend_step()
        what = f"step {scope.budget.steps}, with the answer to `{command.cmd}`"
        reply = _called(guest.step, event, what)


def _called(call: Callable[[bytes], bytes], payload: bytes, what: str) -> bytes:
    """Call into the guest; where it gives up, say in which step."""
    try:
        return call(payload)
    except JobError as error:
        message = f"{error.message} ({what})"
        raise JobError(
            error.code, message, fault=error.fault, last_words=error.last_words
        ) from error


def _answer(
    command: Answered, reply: bytes, guest: Guest, scope: JobScope, recorder: StepJournal
) -> bytes:
    """Answer a command: as an earlier attempt was answered, or by carrying it out.

    An error is an event where the guest asked for that.
    """
    step, budget = scope.budget.steps, scope.budget
    recalled = recorder.recall(step, command, reply)
    if recalled is not None and recalled.event is not None:
        if isinstance(command, Infer | InferMany):
            recorder.listened(recalled, _tell_again(recalled, command, guest, scope))
        return recalled.event
    tokens_in, tokens_out, listener = (
        budget.tokens_in,
        budget.tokens_out,
        TokenListener(guest, scope.account),
    )
    try:
        event: Event = _carry_out(command, reply, listener, scope, recorder)
    except CommandError as error:
        if command.on_error is None:
            raise
        event = ErrorEvent(code=error.code, message=error.message)
    done = CarriedOut(
        step,
        command.cmd,
        reply,
        dump_json(event),
        pieces=tuple(listener.pieces),
        tokens_in=budget.tokens_in - tokens_in,
        tokens_out=budget.tokens_out - tokens_out,
    )
    recorder.keep(done)
    return done.event


def _tell_again(
    entry: JournalEntry, command: Infer | InferMany, guest: Guest, scope: JobScope
) -> list[bool]:
    """Bring guest and budget to where a recorded generation has brought them; return its verdicts."""
    for _ in range(len(command.requests) if isinstance(command, InferMany) else 1):
        scope.account.admit()
    role = "" if scope.model is None else scope.model.role
    scope.account.recall(role, tokens_in=entry.tokens_in, tokens_out=entry.tokens_out)
    if not guest.wants_tokens:
        return []
    return [guest.on_token(piece.encode()) != 0 for piece in entry.pieces]


class TokenListener:
    """Asks a guest for its verdicts and remembers what it was asked about."""

    def __init__(self, guest: Guest, account: JobAccount) -> None:
        self._guest = guest
        self._account = account
        self.pieces: list[str] = []

    def verdict(self) -> AskVerdict | None:
        """The question to put after each piece; None for a guest that does not listen."""
        return self._ask if self._guest.wants_tokens else None

    def _ask(self, piece: str) -> bool:
        self.pieces.append(piece)
        before_ms = self._guest.accounting.guest_ms
        stop = self._guest.on_token(piece.encode()) != 0
        self._account.heard((self._guest.accounting.guest_ms - before_ms) / 1000)
        return stop


def _carry_out(
    command: Answered, reply: bytes, listener: TokenListener, scope: JobScope, recorder: StepJournal
) -> Event:
    match command:
        case Infer():
            return carry_out_infer(command, scope, listener.verdict())
        case InferMany():
            return carry_out_infer_many(command, scope, recorder.parts(scope.budget.steps, reply))
        case CountTokens():
            return carry_out_count_tokens(command, scope)
        case Open() | Slice() | SliceBytes() | List() | Close():
            return carry_out_file_command(command, scope)
        case Emit():
            return carry_out_emit(command, scope)
        case NotOffered():
            raise CommandError(
                ErrorCode.UNSUPPORTED, f"this host does not offer the command `{command.cmd}` yet"
            )
        case _:
            assert_never(command)


def internal_fault(job: str, tenant: str) -> Failure:
    """Log the exception being handled; return the failure whose message lets an operator find it."""
    reference = uuid.uuid4().hex[:12]
    _log.exception("a job met a fault of the host", job=job, tenant=tenant, reference=reference)
    return Failure(
        code=ErrorCode.INTERNAL,
        message=f"a fault of the host; its log has the details under {reference}",
    )


def _usage(scope: JobScope) -> Usage:
    budget = scope.budget
    return Usage(
        tokens_in=budget.tokens_in,
        tokens_out=budget.tokens_out,
        duration_ms=round(budget.elapsed_s * 1000),
        model=scope.account.served_by,
    )
