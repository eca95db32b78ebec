"""The first kind of endpoint: a model in this process, behind its inference thread."""

from collections.abc import Callable
from typing import Final, Self

from cuttlebone.endpoints.endpoint import EndpointCapabilities, Mode, Weakness
from cuttlebone.generation.figures import Figures
from cuttlebone.generation.inference import TokenCounter
from cuttlebone.generation.request import GenerationRequest, RequestField
from cuttlebone.generation.state import State
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.sequence import BatchLimits
from cuttlebone.inference.thread import InferenceThread, Load

_FIELDS: Final = frozenset(RequestField)
_WEAKENED: Final = frozenset({Weakness.UNREPEATABLE})
"""Where texts depend on neighbours."""


class LocalEndpoint:
    """One model and its thread, between `start` and `stop` or while the body of a `with` runs.

    Owned by whoever made it. Everything but its capabilities is the thread's.
    """

    def __init__(
        self,
        load: Load,
        *,
        name: str = "model",
        on_demand: bool = False,
        closed: Callable[[], None] = lambda: None,
        limits: BatchLimits = BatchLimits(),  # noqa: B008 -- frozen
    ) -> None:
        """With `on_demand` the model is loaded for the first request, and again after `unload`.

        `closed` is called each time that the model has been freed.
        """
        self._thread = InferenceThread(
            load, name=name, on_demand=on_demand, closed=closed, limits=limits
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def name(self) -> str:
        """The roles that it serves, or its file."""
        return self._thread.name

    @property
    def capabilities(self) -> EndpointCapabilities:
        """Everything; the numbers, and whether texts can be repeated, while the model is loaded."""
        info = self._thread.info
        return EndpointCapabilities(
            mode=Mode.IN_PROCESS,
            context_tokens=None if info is None else info.context_tokens,
            slots=None if info is None else info.kv_shape.generations_max,
            fields=_FIELDS,
            weakens=_WEAKENED if info is not None and not info.exact else frozenset(),
            stays_local=True,
        )

    @property
    def state(self) -> State:
        """How far the model is."""
        return self._thread.state

    @property
    def figures(self) -> Figures:
        """What the thread has counted."""
        return self._thread.figures

    @property
    def busy(self) -> bool:
        """Whether a generation that was accepted has no outcome yet."""
        return self._thread.busy

    @property
    def used_s(self) -> float:
        """When a request was accepted last, by a clock that all local endpoints share."""
        return self._thread.used_s

    def submit(self, request: GenerationRequest) -> Generation:
        """Accept a request; raise CommandError."""
        return self._thread.submit(request)

    def counter(self, timeout_s: float) -> TokenCounter | None:
        """What counts tokens, once the model is loaded; raise CommandError."""
        return self._thread.counter(timeout_s)

    def unload(self) -> None:
        """Free a model that loads on demand soon, unless something uses it."""
        self._thread.unload()

    def start(self) -> None:
        """Begin to load, or to wait for the first request."""
        self._thread.start()

    def stop(self) -> None:
        """End every generation, free the model and join the thread."""
        self._thread.stop()
