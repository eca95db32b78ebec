"""Makes the parts of callbacks out of the settings."""

from dataclasses import dataclass
from typing import Final

from cuttlebone.callbacks.courier import Courier
from cuttlebone.callbacks.message import Signer, own_secrets, read_secrets
from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.callbacks.sender import Sender
from cuttlebone.errors import OperatorError
from cuttlebone.job.host_time import HostTime
from cuttlebone.metrics import HostMetrics
from cuttlebone.settings import Settings
from cuttlebone.store.stores import Stores

SECRET_FILE: Final = "callback_secret"  # noqa: S105  # the name of a file
"""In the state folder, where no other file is stated."""


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What a host needs in order to call back."""

    policy: CallbackPolicy
    courier: Courier


def open_callbacks(
    settings: Settings, stores: Stores, metrics: HostMetrics, time: HostTime
) -> Callbacks:
    """Read the list and the secrets; raise OperatorError. A secret is made where there is none."""
    policy = CallbackPolicy(settings.callback_hosts)
    courier = Courier(
        stores.jobs,
        stores.outbox,
        policy,
        signer=Signer(_secrets(settings)),
        sender=Sender(),
        delays_s=settings.callback_delays_s,
        metrics=metrics,
        clock=time.clock,
        wall=time.wall,
    )
    return Callbacks(policy, courier)


def _secrets(settings: Settings) -> list[str]:
    if settings.callback_secret_file is not None:
        return read_secrets(settings.callback_secret_file)
    if not settings.callback_hosts:
        return []
    if settings.state is None:
        raise OperatorError(
            "`callback_hosts` is set, but there is no secret to sign callbacks with: name a file "
            "in `callback_secret_file`, or give --state DIR, in which one is made"
        )
    return own_secrets(settings.state / SECRET_FILE)
