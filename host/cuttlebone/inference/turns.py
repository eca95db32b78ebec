"""Whose turn it is: tenants first, then a tenant's jobs, then a job's generations. Pure data."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType, TypeAlias

from cuttlebone.inference.model import Token

SequenceId = NewType("SequenceId", int)
"""Names one generation from its submission to its end; never used twice."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a generation needs of the batch and the memory."""

    job: str
    tenant: str
    interactive: bool
    prompt: tuple[Token, ...]
    tokens_max: int


_Line: TypeAlias = deque[tuple[SequenceId, Demand]]
_Lines: TypeAlias = dict[tuple[bool, str], _Line]
"""The lines of one tenant's jobs; False, for interactive ones, sorts before True."""


class AdmissionTurns:
    """Who waits for a place, and who has one. Owned by the scheduler.

    First comes the tenant that has the fewest places, of several the one that has waited longest
    since it came or was given one; in the same way among its jobs, but interactive ones go first.
    So between the coming of a tenant that has no place and its first one each other tenant is
    given one at most, whatever it asks for. That is also why `interactive` counts within a tenant
    only: it would be everybody's way past the others.

    Both levels of `_waiting` are in order of that waiting, and none of its lines is empty.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, _Lines] = {}
        self._tenants: Counter[str] = Counter()
        self._jobs: Counter[tuple[str, str]] = Counter()
        self._seen: set[str] = set()

    @property
    def waiting(self) -> int:
        """Generations without a place."""
        return sum(len(line) for lines in self._waiting.values() for line in lines.values())

    def has_place(self, tenant: str) -> bool:
        """Whether a generation of the tenant has one."""
        return self._tenants[tenant] > 0

    @property
    def all_have_places(self) -> bool:
        """Whether every tenant that ever asked has one just now."""
        return len(self._tenants) == len(self._seen)

    def wait(self, sequence: SequenceId, demand: Demand) -> None:
        """Let a generation wait for its turn."""
        self._seen.add(demand.tenant)
        lines = self._waiting.setdefault(demand.tenant, {})
        lines.setdefault(_key(demand), deque()).append((sequence, demand))

    def first(self) -> tuple[SequenceId, Demand] | None:
        """Whose turn it is, if anyone waits."""
        if not self._waiting:
            return None
        tenant = min(self._waiting, key=self._tenants.__getitem__)
        lines = self._waiting[tenant]
        key = min(lines, key=lambda key: (key[0], self._jobs[tenant, key[1]]))
        return lines[key][0]

    def admitted(self, demand: Demand) -> None:
        """Note that the first has its place now; its tenant and job go behind the others."""
        lines = self._waiting.pop(demand.tenant)
        line = lines.pop(_key(demand))
        line.popleft()
        if line:
            lines[_key(demand)] = line
        if lines:
            self._waiting[demand.tenant] = lines
        self._tenants[demand.tenant] += 1
        self._jobs[demand.tenant, demand.job] += 1

    def ended(self, demand: Demand) -> None:
        """Note that a generation has given its place back."""
        self._tenants -= Counter([demand.tenant])  # what comes to nothing is dropped
        self._jobs -= Counter([(demand.tenant, demand.job)])

    def forget(self, sequence: SequenceId) -> None:
        """Let a generation wait no longer; nothing happens if it does not."""
        for tenant, lines in list(self._waiting.items()):
            for key, line in list(lines.items()):
                kept = deque(item for item in line if item[0] != sequence)
                if kept:
                    lines[key] = kept
                else:
                    del lines[key]
            if not lines:
                del self._waiting[tenant]


class PromptTurns:
    """Who had prompt tokens in which batch. Owned by the scheduler; knows only running jobs."""

    def __init__(self) -> None:
        self._batch = 0
        self._served: dict[tuple[str, ...], int] = {}

    def begin_batch(self) -> None:
        """Let the next batch begin."""
        self._batch += 1

    def served(self, demand: Demand) -> None:
        """Note that a prompt has tokens in this batch."""
        self._served[demand.tenant,] = self._served[demand.tenant, demand.job] = self._batch

    def rank(self, demand: Demand, *, urgent: bool) -> tuple[int, bool, int]:
        """Sorts prompts: first the tenant whose turn it is, then what is urgent of it, then jobs."""
        tenant, job = (demand.tenant,), (demand.tenant, demand.job)
        return self._served.get(tenant, 0), not urgent, self._served.get(job, 0)

    def keep(self, running: Iterable[Demand]) -> None:
        """Forget whoever has nothing running."""
        known = {key for one in running for key in ((one.tenant,), (one.tenant, one.job))}
        self._served = {key: batch for key, batch in self._served.items() if key in known}


def prompt_weight(prompting: Iterable[Demand], generating: Iterable[Demand]) -> float:
    """How many of the generating ones the prompts weigh as much as; with none, how many prompts.

    Every tenant weighs the same, each job of it too, and each generation of a job.
    """
    prompting, generating = list(prompting), list(generating)
    if not generating:
        return float(len(prompting))
    everyone = prompting + generating
    jobs = Counter((one.tenant, one.job) for one in everyone)
    tenants = Counter(tenant for tenant, _ in jobs)
    weights = [1 / tenants[one.tenant] / jobs[one.tenant, one.job] for one in everyone]
    prompts, rest = weights[: len(prompting)], weights[len(prompting) :]
    return len(generating) * sum(prompts) / sum(rest)


def _key(demand: Demand) -> tuple[bool, str]:
    return not demand.interactive, demand.job
