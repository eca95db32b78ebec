"""What a host counts and measures about itself, for Prometheus; the one place that knows the names.

Labels come from small sets: statuses, routes, methods, roles, and names of specs, which the operator
chose. Nothing that a caller or a guest writes becomes a label.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

PREFIX: Final = "cuttlebone"
SPECS_NAMED_MAX: Final = 200
"""Specs with a series of their own; what comes beyond is counted together."""
OTHER: Final = "other"

_SECONDS: Final = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0, 120.0, 600.0, 3600.0)
_COMMIT_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0)
_COMMIT_CHANGES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Read = Callable[[], Iterable[tuple[str, float]]]
"""Reads label values with their numbers, at each scrape."""

_Family = type[CounterMetricFamily] | type[GaugeMetricFamily]


class HostMetrics:
    """The numbers of one host, in a registry of their own. Any thread may count and measure.

    Invariant: `_specs` never has more than SPECS_NAMED_MAX names, so the series are bounded.
    """

    def __init__(self, *, version: str = "") -> None:
        self._registry = CollectorRegistry()
        self._specs: set[str] = set()
        ProcessCollector(registry=self._registry)
        Info(f"{PREFIX}_build", "The version that runs.", registry=self._registry).info(
            {"version": version}
        )
        self._accepted = self._counter("jobs_accepted", "Jobs that were accepted.", "spec")
        self._ended = self._counter("jobs_ended", "Jobs that ended.", "spec", "status")
        self._queue = self._histogram("job_queue_seconds", "From acceptance to the first start.")
        self._running = self._histogram(
            "job_running_seconds", "From the first start to the end.", "status"
        )
        self._guest = self._histogram("job_guest_seconds", "In the code of the block, one job.")
        self._requests = self._counter(
            "http_requests", "HTTP requests that were answered.", "method", "route", "status"
        )
        self._request = self._histogram(
            "http_request_seconds", "From the head of a request to the end.", "method", "route"
        )
        self._connections = Gauge(
            f"{PREFIX}_http_connections", "Connections that are open.", registry=self._registry
        )
        self._connections_refused = self._counter(
            "http_connections_refused", "Connections that found no place."
        )
        self._gaps = self._counter("event_gaps", "Event streams whose job was forgotten meanwhile.")
        self._commit = self._histogram(
            "store_commit_seconds", "One commit of the store.", buckets=_COMMIT_SECONDS
        )
        self._changes = self._histogram(
            "store_commit_changes", "Changes in one commit.", buckets=_COMMIT_CHANGES
        )
        self._commit_failures = self._counter(
            "store_commit_failures", "Commits undone by an error."
        )
        self._callbacks = self._counter(
            "callback_attempts", "Attempts to tell a callback that a job ended.", "outcome"
        )

    def job_accepted(self, spec: str) -> None:
        """Count a job that was accepted."""
        self._accepted.labels(self._spec(spec)).inc()

    def job_ended(
        self,
        spec: str,
        status: str,
        *,
        queued_s: float | None = None,
        running_s: float | None = None,
        guest_s: float | None = None,
    ) -> None:
        """Count a job that ended; the times are those of one that was started."""
        self._ended.labels(self._spec(spec), status).inc()
        if queued_s is not None:
            self._queue.observe(queued_s)
        if running_s is not None:
            self._running.labels(status).observe(running_s)
        if guest_s is not None:
            self._guest.observe(guest_s)

    def http_answered(self, method: str, route: str, status: int, took_s: float) -> None:
        """Count an answer, status 0 for none. `route` is the pattern of the path, not the path."""
        self._requests.labels(method, route, str(status)).inc()
        self._request.labels(method, route).observe(took_s)

    def connection_opened(self) -> None:
        """Count a connection that is served."""
        self._connections.inc()

    def connection_closed(self) -> None:
        """Count the end of one that was served."""
        self._connections.dec()

    def connection_refused(self) -> None:
        """Count a connection that is not served, because too many are open."""
        self._connections_refused.inc()

    def event_gap(self) -> None:
        """Count a stream that lost events."""
        self._gaps.inc()

    def committed(self, changes: int, took_s: float) -> None:
        """Count a commit."""
        self._commit.observe(took_s)
        self._changes.observe(changes)

    def commit_failed(self) -> None:
        """Count a commit that was undone."""
        self._commit_failures.inc()

    def callback_attempted(self, outcome: str) -> None:
        """Count an attempt; `outcome` is `delivered`, `failed` or `abandoned`."""
        self._callbacks.labels(outcome).inc()

    def gauge(self, name: str, text: str, label: str, read: Read) -> None:
        """Show numbers that are read at each scrape."""
        self._registry.register(_Read(f"{PREFIX}_{name}", text, label, read, GaugeMetricFamily))

    def total(self, name: str, text: str, label: str, read: Read) -> None:
        """Show sums that only grow and are read at each scrape."""
        self._registry.register(_Read(f"{PREFIX}_{name}", text, label, read, CounterMetricFamily))

    def exposition(self) -> bytes:
        """All numbers, in the text format of Prometheus."""
        return generate_latest(self._registry)

    def _spec(self, spec: str) -> str:
        if spec not in self._specs:
            if len(self._specs) >= SPECS_NAMED_MAX:
                return OTHER
            self._specs.add(spec)
        return spec

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", text, labels, registry=self._registry)

    def _histogram(
        self, name: str, text: str, *labels: str, buckets: tuple[float, ...] = _SECONDS
    ) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", text, labels, buckets=buckets, registry=self._registry)


class _Read(Collector):
    """Numbers that are read when they are asked for. Immutable."""

    def __init__(self, name: str, text: str, label: str, read: Read, family: _Family) -> None:
        self._name, self._text, self._label, self._read = name, text, label, read
        self._family = family

    def describe(self) -> Iterator[Metric]:
        """Name it without reading."""
        yield self._family(self._name, self._text, labels=[self._label])

    def collect(self) -> Iterator[Metric]:
        """Read it."""
        family = self._family(self._name, self._text, labels=[self._label])
        for value, number in self._read():
            family.add_metric([value], number)
        yield family
