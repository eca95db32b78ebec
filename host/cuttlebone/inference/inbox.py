"""Where other threads leave word for the inference thread."""

import threading
from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

from cuttlebone.generation.ticket import CancelAsked, Generation, VerdictGiven
from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.prompts import Prepared


@dataclass(frozen=True, slots=True)
class Submitted:
    """A new generation; it comes unprepared if it was submitted before the model was there."""

    generation: Generation
    prepared: Prepared | None


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The model is no longer wanted."""


@dataclass(frozen=True, slots=True)
class LoadAsked:
    """The model is wanted, though nothing has been submitted."""


@dataclass(frozen=True, slots=True)
class UnloadAsked:
    """Another model wants the memory, if nothing uses this one."""


Message: TypeAlias = Submitted | VerdictGiven | CancelAsked | StopAsked | LoadAsked | UnloadAsked


class Inbox:
    """A queue with one reader, filled by any thread. Once closed it takes nothing more.

    Invariant: `interrupt` is asked for exactly while there is a message that ends what the batch under way
    is for. Guarded by the lock, as all of it.
    """

    def __init__(self) -> None:
        self.interrupt = Interrupt()
        self._changed = threading.Condition(threading.Lock())
        self._messages: deque[Message] = deque()
        self._wanted = 1
        self._urgent = False
        self._closed = False

    def put(self, message: Message) -> bool:
        """Leave a message; False if nobody will read it."""
        with self._changed:
            if self._closed:
                return False
            self._messages.append(message)
            if _ends_a_batch(message):
                self.interrupt.ask()
            self._urgent = self._urgent or not isinstance(message, VerdictGiven)
            # The reader is woken once for a whole round of verdicts: each waking costs a switch.
            if self._urgent or len(self._messages) >= self._wanted:
                self._changed.notify()
            return True

    def take(self, *, verdicts: int = 1, timeout_s: float | None) -> list[Message]:
        """Take all messages, waiting for so many verdicts or for anything else, or until the time is over."""
        with self._changed:
            self._wanted = verdicts
            if timeout_s != 0:
                self._changed.wait_for(
                    lambda: self._urgent or len(self._messages) >= verdicts, timeout_s
                )
            return self._drain()

    def await_demand(self) -> None:
        """Wait, without taking it, for a message that needs the model or ends the thread.

        What else is there is about generations that have ended, and is dropped.
        """
        with self._changed:
            self._wanted = 1
            self._changed.wait_for(self._demand)

    def _demand(self) -> bool:
        wanted = [
            one for one in self._messages if isinstance(one, Submitted | LoadAsked | StopAsked)
        ]
        self._messages = deque(wanted)
        return bool(wanted)

    def close(self) -> list[Message]:
        """Take what is left and accept nothing more."""
        with self._changed:
            self._closed = True
            return self._drain()

    def _drain(self) -> list[Message]:
        messages = list(self._messages)
        self._messages.clear()
        self.interrupt.clear()
        self._urgent = False
        return messages


def _ends_a_batch(message: Message) -> bool:
    match message:
        case StopAsked():
            return True
        case CancelAsked(generation):
            return generation.admitted and not generation.ended
        case _:
            return False
