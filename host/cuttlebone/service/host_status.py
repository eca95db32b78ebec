"""How a host is: its models, whether it is ready, what holds around its guests, what it counts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.generation.state import Phase
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.answers import ModelStatus, Readiness, model_statuses
from cuttlebone.text import printable

_AS_WISHED: Final = frozenset({Phase.READY, Phase.UNLOADED})


class HostStatus:
    """Tells how a host is. Immutable; any thread may ask, and no call waits."""

    def __init__(
        self,
        endpoints: EndpointDirectory,
        metrics: HostMetrics,
        layers: Mapping[str, str | None],
        store_trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`layers` are those around a guest: None where one holds, else why it does not.

        `store_trouble` says why nothing can be kept, and does not wait.
        """
        self._store_trouble = store_trouble
        self._endpoints = endpoints
        self._layers = dict(layers)
        self.metrics = metrics
        """What this host counts."""

    def models(self) -> Sequence[ModelStatus]:
        """Every role with the state of its model."""
        return model_statuses(self._endpoints)

    def readiness(self) -> Readiness:
        """Whether everything works that the operator has set up. Faulty specs do not count."""
        reasons = [
            _words(one) for one in self.models() if one.state not in _AS_WISHED or one.reason
        ]
        trouble = self._store_trouble()
        if trouble is not None:
            reasons.append(f"the job store cannot be written: {printable(trouble)}")
        return Readiness(tuple(reasons), self._layers)


def _words(model: ModelStatus) -> str:
    """Say how a model stands that does not serve as it should."""
    named = f"the model `{model.role}`"
    reason = f": {model.reason}" if model.reason else ""
    match model.state:
        case Phase.FAILED | Phase.UNLOADED:
            return f"{named} could not be loaded{reason}"
        case Phase.LOADING if model.progress:
            return f"{named} is loading, {model.progress:.0%} so far{reason}"
        case _:
            return f"{named} is {model.state}{reason}"
