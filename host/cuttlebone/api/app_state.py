"""What the requests of one application share, typed: the framework keeps it as an attribute of no type."""

from dataclasses import dataclass

from anyio import CapacityLimiter
from fastapi import FastAPI

from cuttlebone.access import Authenticator, Quotas
from cuttlebone.api.connection_limits import ConnectionLimits
from cuttlebone.api.journal_slots import JournalSlots
from cuttlebone.api.submission_batcher import SubmissionBatcher
from cuttlebone.api.subscribers import Subscribers
from cuttlebone.service.host import Host


@dataclass(frozen=True, slots=True)
class AppState:
    """What the requests of one application share."""

    host: Host
    authenticator: Authenticator
    quotas: Quotas
    limits: ConnectionLimits
    subscribers: Subscribers
    batcher: SubmissionBatcher
    compile_threads: CapacityLimiter
    batch_threads: CapacityLimiter
    """For batches of submissions: each takes a thread for as long as a thousand submissions do."""
    journal_slots: JournalSlots


def keep_state(app: FastAPI, state: AppState) -> None:
    """Let the requests of `app` share `state`. Once, before it serves any."""
    app.state.shared = state


def state_of(app: FastAPI) -> AppState:
    """Return what the requests of `app` share."""
    found: AppState = app.state.shared
    return found
