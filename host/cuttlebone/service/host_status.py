"""How a host is: its models, whether it is ready, what holds around its guests, what it counts."""

from collections.abc import Mapping, Sequence
from typing import Final

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.generation.state import Phase
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.answers import ModelStatus, Readiness, model_statuses

_AS_WISHED: Final = frozenset({Phase.READY, Phase.UNLOADED})


class HostStatus:
    """Tells how a host is. Immutable; any thread may ask, and no call waits."""

    def __init__(
        self, endpoints: EndpointDirectory, metrics: HostMetrics, layers: Mapping[str, str | None]
    ) -> None:
        """`layers` are those around a guest: None where one holds, else why it does not."""
        self._endpoints = endpoints
        self._layers = dict(layers)
        self.metrics = metrics
        """What this host counts."""

    def models(self) -> Sequence[ModelStatus]:
        """Every role with the state of its model."""
        return model_statuses(self._endpoints)

    def readiness(self) -> Readiness:
        """Whether everything works that the operator has set up. Faulty specs do not count."""
        return Readiness(
            tuple(
                f"the model `{one.role}` is {one.state}" + (f": {one.reason}" if one.reason else "")
                for one in self.models()
                if one.state not in _AS_WISHED or one.reason
            ),
            self._layers,
        )
