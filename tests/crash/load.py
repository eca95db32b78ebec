"""Clients that submit, watch and read all the time, whatever happens to the host, and remember it all."""

import itertools
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Self

from bounds import scaled
from crash.history import History, Reading, stage
from cuttlebone.client import Client, Refused, StreamEvent, Unreachable
from cuttlebone_abi import Json

SUBMITTERS: Final = 2
WATCHERS: Final = 4
READERS: Final = 2
PAUSE_S: Final = 0.02
"""Between two requests of one client, so that the queue stays short."""
END_S_MAX: Final = scaled(120.0)


class Load:
    """Owner: one test. Submitters stop with `stop_submitting`, everybody at the end of the body.

    Invariant: what a client met that it should not have met stands in `troubles`.
    """

    def __init__(self, url: str, *, seed: int) -> None:
        self.history = History()
        self.watched: dict[str, list[StreamEvent]] = defaultdict(list)
        """The events of each job that somebody watched to its end."""
        self.troubles: list[str] = []
        self._url = url
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        self._unwatched: list[str] = []
        self._no_more = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._submitters = self._threads("submitter", SUBMITTERS, self._submit)
        self._watchers = self._threads("watcher", WATCHERS, self._watch)
        self._readers = self._threads("reader", READERS, self._read)

    def stop_submitting(self) -> None:
        """Let no more jobs come."""
        self._no_more.set()
        for thread in self._submitters:
            thread.join(END_S_MAX)

    def read_to_the_end(self) -> None:
        """Wait for every job that was accepted, and note its envelope."""
        with Client(self._url) as client:
            for job_id in self.history.known():
                sent_s = time.monotonic()
                job = client.job(job_id, wait_s=30)
                self.history.note(
                    Reading(
                        job_id,
                        sent_s,
                        time.monotonic(),
                        stage(job.status, job.attempt),
                        job.envelope,
                    )
                )

    def __enter__(self) -> Self:
        for thread in (*self._submitters, *self._watchers, *self._readers):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_submitting()
        self._stop.set()
        for thread in (*self._watchers, *self._readers):
            thread.join(END_S_MAX)

    def _threads(
        self, name: str, count: int, run: Callable[[Client], None]
    ) -> list[threading.Thread]:
        def live() -> None:
            with Client(self._url) as client:
                try:
                    run(client)
                except Exception as error:  # noqa: BLE001  # the test has to see it
                    self.troubles.append(f"{name}: {error!r}")

        return [threading.Thread(target=live, name=name, daemon=True) for _ in range(count)]

    def _submit(self, client: Client) -> None:
        while not self._no_more.wait(PAUSE_S):
            name = f"job-{next(self._numbers)}"
            spec = self._random.choice(("work", "work", "echo"))
            value: Json = {"name": name, "rounds": self._random.randint(1, 4)}
            sent_s = time.monotonic()
            try:
                job = client.submit(spec, value)
            except Unreachable:
                continue  # whether it was accepted is not known, and nothing is promised
            except Refused as error:
                if error.status not in {429, 503, 507}:
                    raise
                continue
            self.history.note_accepted(job.id, {"spec": spec, **value}, sent_s)
            with self._lock:
                self._unwatched.append(job.id)

    def _watch(self, client: Client) -> None:
        while True:
            with self._lock:
                job_id = self._unwatched.pop() if self._unwatched else None
            if job_id is not None:
                self.watched[job_id] = list(all_events(client, job_id))
            elif self._stop.wait(PAUSE_S):
                return

    def _read(self, client: Client) -> None:
        while not self._stop.wait(PAUSE_S):
            known = self.history.known()
            if not known:
                continue
            job_id, sent_s = self._random.choice(known[-40:]), time.monotonic()
            try:
                job = client.job(job_id)
            except Unreachable:
                continue
            except Refused as error:
                if error.code == "unknown_job":
                    self.history.note(Reading(job_id, sent_s, time.monotonic(), None))
                continue
            at = stage(job.status, job.attempt)
            self.history.note(Reading(job_id, sent_s, time.monotonic(), at, job.envelope))


def all_events(client: Client, job_id: str) -> Iterator[StreamEvent]:
    """Follow a job to its result, however long its host is away."""
    after, ended = 0, False
    while not ended:
        with suppress(Unreachable):
            for event in client.events(job_id, after=after):
                if event.number is not None:
                    after, ended = event.number, event.kind == "result"
                    yield event
