"""What keeps the consequences of an end: each is due from the commit that made the job final."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from urllib.parse import urlsplit

from cuttlebone.job.delivery import Attempt, Delivery, Topic
from cuttlebone.job.job import JobKey


class Outbox(Protocol):
    """Keeps deliveries. Any thread may call it.

    Invariants: a job that is final has a delivery of each topic that `topics_of` names for it, from
    the same commit on, one of a topic; a delivery goes with its job.
    """

    def of(self, key: JobKey) -> Sequence[Delivery]:
        """The deliveries of a job, in the order of their topics."""

    def due(self, topic: Topic, moment: datetime, *, each_max: int) -> Sequence[Delivery]:
        """Pending deliveries of a topic to be tried by `moment`, the longest due first.

        At most `each_max` of one receiver, so that however many one has, those of the others are seen.
        """

    def note(
        self, delivery: Delivery, attempt: Attempt, *, next_attempt_at: datetime | None
    ) -> None:
        """Keep an attempt; without a reason it delivered, without a next one it was the last.

        Raises StoreUnavailable if it cannot be written. One whose job was forgotten is left out.
        """

    def pending(self, topic: Topic) -> int:
        """How many of a topic are pending."""


def topics_of(callback_url: str | None) -> Sequence[Topic]:
    """What follows when a job ends, in both stores."""
    return () if callback_url is None else (Topic.CALLBACK,)


def receiver_of(callback_url: str | None) -> str:
    """Whom a callback goes to, whatever the path: scheme and authority of its address."""
    parts = urlsplit(callback_url or "")
    return f"{parts.scheme}://{parts.netloc}"
