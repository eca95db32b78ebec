"""The numbers of a host that are read when somebody asks for them: what there is now, not what happened."""

from collections.abc import Iterable
from functools import partial

from cuttlebone.endpoints.resident import ResidentModels
from cuttlebone.inference.thread import Phase
from cuttlebone.jobs.store import JobStore
from cuttlebone.metrics import HostMetrics

Read = Iterable[tuple[str, float]]


def watch_figures(metrics: HostMetrics, store: JobStore, models: ResidentModels) -> None:
    """Let `metrics` show them."""
    metrics.gauge("jobs", "Jobs that are kept.", "status", partial(_jobs, store))
    metrics.gauge(
        "callbacks", "Callbacks that have not arrived yet.", "state", partial(_callbacks, store)
    )
    metrics.gauge("model_ready", "1 if the model serves.", "role", partial(_ready, models))


def _jobs(store: JobStore) -> Read:
    return [(status, float(jobs)) for status, jobs in store.counts().items()]


def _callbacks(store: JobStore) -> Read:
    return [("pending", float(store.deliveries.pending()))]


def _ready(models: ResidentModels) -> Read:
    return [
        (role, float(model.thread.state.phase is Phase.READY))
        for role, model in models.models.items()
    ]
