"""What can go wrong between a client and a host: no answer at all, or an answer that refuses."""

from dataclasses import dataclass

from pydantic import ValidationError

from cuttlebone.errors import FieldFault
from cuttlebone.http_types import Problem
from cuttlebone.text import printable


class Unreachable(Exception):
    """Nothing at that address answers as a host does; the message says what was tried."""


class NoHost(Unreachable):
    """Something answers, but no host would answer so. Waiting does not help."""


@dataclass(frozen=True, slots=True)
class _Reason:
    code: str
    message: str
    faults: tuple[FieldFault, ...]


class Refused(Exception):
    """The host answered with a problem document; nothing was changed there.

    `code` is a string and no enum: a host that is newer than this client may send codes that
    the client does not know.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        faults: tuple[FieldFault, ...] = (),
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.faults = faults
        self.retry_after_s = retry_after_s


def may_pass(error: Refused) -> bool:
    """Whether the host has too much to do (429) or is not there for a while (503), and says until when."""
    return error.status in {429, 503} and error.retry_after_s is not None


class RetryBudget:
    """How long one call may pause in all because the host refuses it for now. Owner: that call."""

    def __init__(self, retry_s: float) -> None:
        self._left_s = retry_s

    def delay_s(self, error: Refused) -> float:
        """How long to pause before the call is made again; raise the error if it is not to be."""
        delay_s = error.retry_after_s
        if delay_s is None or not may_pass(error) or delay_s > self._left_s:
            raise error
        self._left_s -= max(delay_s, 1)
        return delay_s


def refusal(status: int, body: bytes, *, retry_after: str | None) -> Refused:
    """Read an answer of status 400 and above; `retry_after` is that header, if there was one."""
    reason = _read(status, body)
    return Refused(
        status,
        reason.code,
        reason.message,
        faults=reason.faults,
        retry_after_s=int(retry_after) if retry_after and retry_after.isdecimal() else None,
    )


def _read(status: int, body: bytes) -> _Reason:
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        # A proxy, or some other server on that port. What it says may still help a person.
        start = printable(body[:200].decode("utf-8", "replace"))
        return _Reason("not_a_problem_document", f"status {status}: {start}", ())
    faults = tuple(FieldFault(one.pointer, one.message) for one in problem.errors)
    return _Reason(str(problem.code), problem.detail, faults)
