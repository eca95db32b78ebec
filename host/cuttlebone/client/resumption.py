"""Where an event stream stands: after which event to go on, and whether trying again is still worth it."""

from typing import Final

from cuttlebone.client.refusal import NoHost, Refused, Unreachable
from cuttlebone.client.stream_event import StreamEvent
from cuttlebone_abi import JobStatus, Json, MalformedMessage, load_json

FAILURES_MAX: Final = 8
"""Attempts in a row that brought no event, after which the client gives up (about 16 seconds)."""
DELAY_S_FIRST: Final = 0.1
DELAY_S_MAX: Final = 5.0
LAST_EVENT: Final = "result"
PASSING: Final = ("stopping", "too_many_connections")
"""Refusals of a host that will answer again."""
LINKED: Final = "large"
"""The kind that stands in a stream for an event that has to be fetched."""
UNNUMBERED: Final = ("snapshot", "gap")


class Patience:
    """How long to go on trying. Owned by whoever tries.

    Invariant: `failures` counts the attempts since the last one that brought something.
    """

    def __init__(self) -> None:
        self.failures = 0

    def retry_delay_s(self) -> float | None:
        """How long to wait before the next attempt; None when it is time to give up."""
        self.failures += 1
        if self.failures > FAILURES_MAX:
            return None
        return min(DELAY_S_FIRST * 2.0 ** (self.failures - 1), DELAY_S_MAX)

    def note_answer(self) -> None:
        """The host answers, if with nothing new: it is worth one more attempt at any time."""
        self.failures = min(self.failures, FAILURES_MAX - 1)

    def note_success(self) -> None:
        """It was worth it."""
        self.failures = 0


class Resumption:
    """The state of one stream over all its connections. Owned by the generator that reads it.

    Invariants: `after` only grows, but for a gap, which says where the log goes on; once `ended` is
    set it stays.
    """

    def __init__(self, after: int) -> None:
        self.after = after
        self.ended = False
        self.patience = Patience()
        self._seen_final = False

    @property
    def headers(self) -> dict[str, str]:
        """What to send so that the host goes on where this stream stopped."""
        return {"Last-Event-ID": str(self.after)} if self.after else {}

    def linked(self, number: str, kind: str) -> int | None:
        """The number of an event that is only linked, if it was not seen before."""
        place = _number(number) if kind == LINKED else None
        return place if place is not None and place > self.after else None

    def take(self, number: str, kind: str, data: str) -> StreamEvent | None:
        """Note an event; None for what is none, or was seen before. Raises ValueError."""
        if not data:
            return None  # The end of a comment block: keep-alives look like this.
        # An event without an id is given that of the one before it, by the rules of such streams.
        place = None if kind in UNNUMBERED else _number(number)
        return self.note(StreamEvent(number=place, kind=kind or "message", data=_value(data)))

    def note(self, event: StreamEvent) -> StreamEvent | None:
        """Note an event that is read; None for one that was seen before."""
        if event.number is None:
            self.patience.note_answer()
            self._seen_final = self._seen_final or _shows_final(event)
            self.after = _after_gap(event, self.after)
            return event
        if event.number <= self.after:
            return None
        self.after = event.number
        self.patience.note_success()
        self.ended = event.kind == LAST_EVENT
        return event

    def note_end(self) -> None:
        """Note that the host ended the connection by itself, having sent all that it has for now."""
        self.ended = self.ended or self._seen_final


def _shows_final(event: StreamEvent) -> bool:
    """Whether a snapshot shows a job that has ended, so that its log grows no more."""
    match event.kind, event.data:
        case "snapshot", {"status": str(status)}:
            return status in frozenset(state for state in JobStatus if state.final)
        case _:
            return False


def _after_gap(event: StreamEvent, after: int) -> int:
    """After which event the stream goes on: a gap may lead ahead, or back to the beginning."""
    match event.kind, event.data:
        case "gap", {"next": int(following)} if following > 0:
            return following - 1
        case _:
            return after


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and text.isascii() else None


def _value(data: str) -> Json:
    try:
        return load_json(data.encode())
    except MalformedMessage as error:
        raise ValueError(f"an event is not JSON: {error.reason}") from None


class RetryPause:
    """How long to wait for a host that is away while one waits for a job. Owned by that wait."""

    def __init__(self) -> None:
        self._patience = Patience()

    def delay_s(self, error: Refused | Unreachable) -> float:
        """How long to pause after an error; raise it if it will not pass, or has not for too long."""
        passing = isinstance(error, Unreachable) and not isinstance(error, NoHost)
        busy = isinstance(error, Refused) and error.code in PASSING
        delay_s = self._patience.retry_delay_s() if passing or busy else None
        if delay_s is None:
            raise error
        return delay_s

    def note_answer(self) -> None:
        """The host is there."""
        self._patience.note_success()
