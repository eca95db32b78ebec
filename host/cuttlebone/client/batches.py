"""Many submissions on their way: which go next, what became of each, when to go on."""

import uuid
from collections.abc import Iterable
from typing import Final, TypeAlias

from cuttlebone.client import api_calls
from cuttlebone.client.api_calls import Call
from cuttlebone.client.refusal import Refused, may_pass
from cuttlebone.client.submit_options import JobOptions
from cuttlebone.errors import FieldFault
from cuttlebone.http_types import BatchAnswer, JobSummary
from cuttlebone_abi import Json, dump_json

LINES_MAX: Final = 1_000
"""The most lines that the host takes at once."""
BATCH_BYTES_MAX: Final = 8 << 20
"""Well below what the host takes at once, unless its operator has lowered that by much."""

PATIENCE_S: Final = 60.0
"""How long to go on while the host has room for no job."""

Outcome: TypeAlias = JobSummary | Refused


class Batches:
    """Submissions of one kind with many inputs. Owner: the call that submits them.

    Invariant: each line has a key of its own, so that none becomes two jobs however often it is sent;
    what has an outcome that will not pass is sent no more.
    """

    def __init__(
        self, spec: str, values: Iterable[Json], options: JobOptions, *, patience_s: float
    ) -> None:
        shared = api_calls.submission(spec, None, options)
        key = uuid.uuid4().hex
        self._lines = [
            dump_json({**shared, "input": value, "idempotency_key": f"{key}-{number}"})
            for number, value in enumerate(values)
        ]
        self._outcomes: dict[int, Outcome] = {}
        self._waiting = list(range(len(self._lines)))
        self._sent: list[int] = []
        self._patience_s = patience_s
        self._left_s = patience_s

    def next_call(self) -> Call[list[BatchAnswer]] | None:
        """Ask for the next jobs; None when each submission has its outcome."""
        self._sent, size = [], 0
        for number in self._waiting[:LINES_MAX]:
            size += len(self._lines[number]) + 1
            if self._sent and size > BATCH_BYTES_MAX:
                break
            self._sent.append(number)
        if not self._sent:
            return None
        return api_calls.submit_batch([self._lines[number] for number in self._sent])

    def note(self, answers: list[BatchAnswer]) -> float:
        """Note what became of the lines that were sent; return how long to pause before the next ones."""
        outcomes = [_outcome(answer) for answer in answers]
        self._outcomes.update(zip(self._sent, outcomes, strict=True))
        busy = {
            number: one.retry_after_s
            for number, one in zip(self._sent, outcomes, strict=True)
            if isinstance(one, Refused) and one.retry_after_s is not None and may_pass(one)
        }
        if len(busy) < len(self._sent):
            self._left_s = self._patience_s
        delay_s = max(busy.values(), default=0)
        self._left_s -= delay_s
        again = list(busy) if self._left_s >= 0 else []
        unsent = self._waiting[len(self._sent) :]
        # With no patience left nothing further is sent either: it would find the host as busy.
        if busy and not again:
            refused = self._outcomes[max(busy)]
            self._outcomes.update(dict.fromkeys(unsent, refused))
            unsent = []
        self._waiting = again + unsent
        return delay_s if self._waiting else 0

    def outcomes(self) -> list[Outcome]:
        """What became of each submission, in the order of the inputs."""
        return [self._outcomes[number] for number in range(len(self._lines))]


def _outcome(answer: BatchAnswer) -> Outcome:
    if answer.job is not None:
        return answer.job
    if answer.problem is None:
        return Refused(
            answer.status, "not_a_problem_document", "a line was refused without a reason"
        )
    problem = answer.problem
    return Refused(
        answer.status,
        str(problem.code),
        problem.detail,
        faults=tuple(FieldFault(one.pointer, one.message) for one in problem.errors),
        retry_after_s=answer.retry_after_s,
    )
