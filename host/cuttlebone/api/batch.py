"""Accepts a batch of submissions: each line for itself, all in as few commits as hold them."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from cuttlebone.access import Caller, Quotas
from cuttlebone.api.request_body import body_too_large, parse_body
from cuttlebone.api.submission_body import BatchedSubmission
from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.job.job import Admitted
from cuttlebone.service.job_service import JobService

LINES_MAX: Final = 1_000
"""Submissions in one batch."""


def check_lines(lines: Sequence[bytes]) -> None:
    """Raise CallerError for a batch that has too many lines, or none."""
    if len(lines) > LINES_MAX:
        raise CallerError(
            ProblemCode.LIMIT_EXCEEDED,
            f"a batch has at most {LINES_MAX} lines, this one has {len(lines)}; send several",
        )
    if not lines:
        raise CallerError(
            ProblemCode.INVALID_BODY, "the body has no line; a submission is one line of JSON"
        )


def accept_lines(
    jobs: JobService, quotas: Quotas, caller: Caller, lines: Sequence[bytes], *, line_bytes_max: int
) -> list[Admitted | Exception]:
    """Accept each line or find out why not, in their order. It takes its time.

    None waits for the one before: what is begun while a commit is under way goes into the next.
    """
    jobs.refresh()

    def begun(line: bytes) -> Future[Admitted]:
        if len(line) > line_bytes_max:
            raise body_too_large("a line of a batch", line_bytes_max)
        body = parse_body(BatchedSubmission, line)
        quotas.check_stored(caller, jobs.stored_bytes)
        return jobs.admit(
            body.submission(tenant=caller.tenant, job_id=body.job_id),
            idempotency_key=body.idempotency_key,
            tenant_waiting_max=quotas.waiting_max(caller),
        )

    return [_ended(one) for one in [_begun(begun, line) for line in lines]]


def _begun(begin: Callable[[bytes], Future[Admitted]], line: bytes) -> Future[Admitted] | Exception:
    try:
        return begin(line)
    except Exception as error:  # noqa: BLE001  # it is the answer to this line
        return error


def _ended(begun: Future[Admitted] | Exception) -> Admitted | Exception:
    if isinstance(begun, Exception):
        return begun
    return begun.exception() or begun.result()  # type: ignore[return-value]  # no BaseException is set
