"""The numbers of a host that are read when somebody asks for them: what there is now, not what happened."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.generation.figures import Figures
from cuttlebone.generation.state import Phase
from cuttlebone.job.delivery import Topic
from cuttlebone.metrics import HostMetrics
from cuttlebone.store.jobs import JobStore
from cuttlebone.store.outbox import Outbox
from cuttlebone.store.stores import Stores

Read = Iterable[tuple[str, float]]

_TOTALS: Final[Sequence[tuple[str, str, Callable[[Figures], float]]]] = (
    ("finished", "Generations that came to their end.", attrgetter("finished")),
    ("failed", "Generations that failed.", attrgetter("failed")),
    ("cancelled", "Generations that were cancelled.", attrgetter("cancelled")),
    ("tokens_in", "Prompt tokens, evaluated or copied.", attrgetter("tokens_in")),
    ("tokens_cached", "Prompt tokens that were copied.", attrgetter("tokens_cached")),
    ("tokens_out", "Tokens that were sampled.", attrgetter("tokens_out")),
    ("batches", "Batches that were evaluated.", attrgetter("batches")),
    ("batch_tokens", "Tokens in all batches.", attrgetter("batch_tokens")),
    ("prefill_seconds", "Batches, by the share of prompt tokens.", attrgetter("prefill_s")),
    ("decode_seconds", "Batches, by the share of other tokens.", attrgetter("decode_s")),
    ("queue_seconds", "From submission to admission.", attrgetter("queue_wait_s")),
    ("first_token_seconds", "From submission to the first token.", attrgetter("first_token_s")),
    ("first_tokens", "Generations that had a first token.", attrgetter("first_tokens")),
    ("restarts", "Times that the thread of the model broke.", attrgetter("restarts")),
)
_NOW: Final[Sequence[tuple[str, str, Callable[[Figures], float]]]] = (
    ("running", "Generations in the batch.", attrgetter("running")),
    ("waiting", "Generations that wait for their place.", attrgetter("waiting")),
    ("free_cells", "Tokens that the memory has room for.", attrgetter("free_cells")),
    ("kept_prompts", "Prompts in memory that no generation uses.", attrgetter("kept_prompts")),
)


def watch_figures(
    metrics: HostMetrics,
    stores: Stores,
    endpoints: EndpointDirectory,
    *,
    cache_damaged: Callable[[], int],
) -> None:
    """Let `metrics` show them."""
    metrics.total(
        "cache_entries_damaged",
        "Entries of a cache on disk that were found damaged, and made again.",
        "cache",
        lambda: [("modules", float(cache_damaged()))],
    )
    metrics.gauge("jobs", "Jobs that are kept.", "status", partial(_jobs, stores.jobs))
    metrics.gauge(
        "callbacks",
        "Callbacks that have not arrived yet.",
        "state",
        partial(_callbacks, stores.outbox),
    )
    metrics.gauge("model_ready", "1 if the model serves.", "role", partial(_ready, endpoints))
    for name, text, read in _TOTALS:
        metrics.total(f"infer_{name}", text, "role", partial(_of_each, endpoints, read))
    for name, text, read in _NOW:
        metrics.gauge(f"infer_{name}", text, "role", partial(_of_each, endpoints, read))


def _of_each(endpoints: EndpointDirectory, read: Callable[[Figures], float]) -> Read:
    """Of each endpoint once: two roles that share a file share its numbers, under the names of both."""
    return [(endpoint.name, float(read(endpoint.figures))) for endpoint in endpoints.endpoints]


def _jobs(jobs: JobStore) -> Read:
    return [(status, float(count)) for status, count in jobs.counts().items()]


def _callbacks(outbox: Outbox) -> Read:
    return [("pending", float(outbox.pending(Topic.CALLBACK)))]


def _ready(endpoints: EndpointDirectory) -> Read:
    return [
        (role, float(endpoint.state.phase is Phase.READY))
        for role, endpoint in endpoints.roles.items()
    ]
