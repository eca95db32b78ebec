"""Where the host has constraints read: in a process that ends with its time, and only then here."""

import os
import signal
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Final, TypeVar, assert_never

import structlog

from cuttlebone.errors import CommandError, JobError, OperatorError
from cuttlebone.generation.request import CompileTerms, Constraint, Grammar, JsonSchema
from cuttlebone.inference import constraint_program
from cuttlebone.inference.constraint_program import ANSWER, ConstraintRequest
from cuttlebone.inference.constraint_reading import lark_grammar, schema_grammar
from cuttlebone.inference.constraints import Fault, check_grammar, check_schema, json_fault
from cuttlebone.inference.constraints import invalid_grammar as refusal
from cuttlebone.inference.schema_keeping import is_bounded, kept_schema
from cuttlebone.locked_process.child import Child, ChildDied
from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.locked_process.frames import Reply, ReplyKind
from cuttlebone.locked_process.lockdown import OUT_OF_TIME, ProcessLimits
from cuttlebone.locked_process.program import RequestFailed
from cuttlebone.locked_process.sealed_file import sealed_file
from cuttlebone.locked_process.spawn_request import SpawnRequest
from cuttlebone.locked_process.watch import Watch
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode, dump_json

KEPT_MAX: Final = 256
"""Constraints that are known to be readable; each has at most 64 KiB, and jobs often repeat theirs."""
QUICK_US_MAX: Final = 20_000
"""What is read here without a thread of its own, and so without looking whether it is still wanted."""
_REPLY_BYTES_MAX: Final = 1 << 20
_LOOK_S: Final = 0.05
_WALL_S_MAX: Final = 600.0
"""For a process that hangs: a busy machine may take minutes to give one its processor time."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReadConstraint:
    """A constraint that can be compiled."""

    grammar: str
    """As the matcher takes it."""
    quick: bool
    """Whether compiling it takes but a moment."""
    fault: Fault | None
    """The check of a finished text; None where the matcher has to do that itself."""


class ConstraintReader:
    """Reads constraints for one model. For any thread; `_lock` guards `_kept` alone."""

    def __init__(self) -> None:
        """Start nothing before the first constraint."""
        programs = [constraint_program.__name__]
        self._fork_server = ForkServer(programs) if sys.platform == "linux" else None
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, ReadConstraint] = OrderedDict()

    def read(self, constraint: Constraint, terms: CompileTerms) -> ReadConstraint:
        """Read a constraint; raise CommandError (invalid_grammar), and JobError once it is unwanted."""
        request, content = _asked(constraint)
        key = bytes([request]) + content
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known
        read = self._read(constraint, content, self._answer(request, content, b"", terms))
        with self._lock:
            self._kept[key] = read
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return read

    def close(self) -> None:
        """End the zygote, if there is one."""
        if self._fork_server is not None:
            self._fork_server.close()

    def _read(self, constraint: Constraint, content: bytes, answer: bytes) -> ReadConstraint:
        all_us, checking_us = ANSWER.unpack_from(answer)
        match constraint:
            case JsonSchema():
                grammar, fault = schema_grammar(kept_schema(constraint.schema)), None
                if checking_us <= QUICK_US_MAX and is_bounded(constraint.schema):
                    fault = json_fault(constraint.schema)
                return ReadConstraint(
                    grammar, all_us <= QUICK_US_MAX, fault or self._check_elsewhere(content)
                )
            case Grammar():
                lark = answer[ANSWER.size :].decode(errors="replace")
                return ReadConstraint(lark_grammar(lark), all_us <= QUICK_US_MAX, None)
            case _:
                assert_never(constraint)

    def _check_elsewhere(self, content: bytes) -> Fault:
        """The check of a text that may take long: each in a process of its own."""

        def fault(text: str) -> str | None:
            try:
                found = self._answer(
                    ConstraintRequest.CHECK, content, text.encode(), CompileTerms()
                )
            except CommandError as error:
                return f"it could not be checked: {error.message}"
            return printable(found.decode(errors="replace")) or None

        return fault

    def _answer(
        self, request: ConstraintRequest, content: bytes, payload: bytes, terms: CompileTerms
    ) -> bytes:
        if self._fork_server is None:
            return _answered_here(request, content, payload)
        child = _child(self._fork_server, content, terms)
        try:
            with Watch(child, lambda: not _wanted(terms), _WALL_S_MAX) as watch:
                reply = child.ask(request, payload, payload_bytes_max=_REPLY_BYTES_MAX)
        except ChildDied as death:
            terms.check_wanted()
            raise _unreadable(request, death, terms, expired=watch.expired) from None
        finally:
            child.close()
        return _payload(reply)


def until_unwanted(work: Callable[[], T], terms: CompileTerms) -> T:
    """Do what nothing can interrupt in a thread, and leave it alone once nobody wants it: JobError."""
    coming: Future[T] = Future()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as error:  # noqa: BLE001  # whoever waits is told, whatever it is
            coming.set_exception(error)

    threading.Thread(target=run, name="constraint", daemon=True).start()
    while True:
        wait([coming], _LOOK_S)
        if coming.done():
            return coming.result()
        terms.check_wanted()


def _asked(constraint: Constraint) -> tuple[ConstraintRequest, bytes]:
    """What the process is asked, about which content; raise CommandError over a bound."""
    match constraint:
        case JsonSchema():
            check_schema(constraint)
            both = [constraint.schema, kept_schema(constraint.schema)]
            return ConstraintRequest.READ_SCHEMA, dump_json(both)
        case Grammar():
            check_grammar(constraint)
            return ConstraintRequest.READ_GRAMMAR, constraint.text.encode()
        case _:
            assert_never(constraint)


def _child(fork_server: ForkServer, content: bytes, terms: CompileTerms) -> Child:
    wanted = SpawnRequest(
        program=constraint_program.__name__,
        limits=ProcessLimits(terms.compile_ms / 1000, data_bytes=256 << 20, reserved_bytes=1 << 30),
        lowers_priority=False,
    )
    descriptor = sealed_file(content)
    try:
        return fork_server.spawn(wanted, descriptor, lambda: not _wanted(terms))
    except OperatorError as error:
        _log.error("constraints cannot be read", reason=str(error))
        raise CommandError(
            ErrorCode.MODEL_LOAD_FAILED, f"schemas and grammars cannot be read now: {error}"
        ) from None
    finally:
        os.close(descriptor)


def _unreadable(
    request: ConstraintRequest, death: ChildDied, terms: CompileTerms, *, expired: bool
) -> CommandError:
    field = "grammar" if request is ConstraintRequest.READ_GRAMMAR else "json_schema"
    if expired or death.signal_number in OUT_OF_TIME:
        return refusal(
            f"`{field}`: compile_ms: it takes more than {terms.compile_ms} ms to read; make it simpler, "
            "or raise `limits.compile_ms` in the spec"
        )
    if death.signal_number == signal.SIGSYS:
        _log.error("a process that reads constraints did what it may not", how=str(death))
    return refusal(f"`{field}` nests too deep or is too large to be read ({death})")


def _wanted(terms: CompileTerms) -> bool:
    try:
        terms.check_wanted()
    except JobError:
        return False
    return True


def _payload(reply: Reply) -> bytes:
    match reply.kind:
        case ReplyKind.DONE:
            return reply.payload
        case ReplyKind.FAILED:
            raise refusal(printable(reply.payload.decode(errors="replace"), chars_max=1024))
        case ReplyKind.OUT_OF_MEMORY:
            raise refusal("it takes too much memory to read")
        case ReplyKind.FAULT:
            _log.error("a process that reads constraints failed", how=printable(str(reply.payload)))
            raise refusal("it cannot be read, by a fault of the host; its log says more")
        case _:
            assert_never(reply.kind)


def _answered_here(request: ConstraintRequest, content: bytes, payload: bytes) -> bytes:
    try:
        return constraint_program.load().open(b"", content).answer(request, payload)
    except RequestFailed as failure:
        raise refusal(failure.payload.decode(errors="replace")) from None
