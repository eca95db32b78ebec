"""A job that is stopped in the middle of what it has asked for."""

from cuttlebone.errors import JobError
from cuttlebone_abi import ErrorCode


class StoppedAfter:
    """What asks whether a job still wants something: it does so many times, then never more."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self.asked = 0

    def __call__(self) -> None:
        """Raise JobError from now on."""
        self.asked += 1
        if self.asked > self._looks:
            raise JobError(ErrorCode.CANCELLED, "stopped")
