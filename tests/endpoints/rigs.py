"""Endpoints of each kind under a test's control: one suite holds them all to the same."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol

from bounds import scaled
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.state import Phase, State
from cuttlebone.inference.model import Model
from cuttlebone.inference.progress import Report, go_on
from cuttlebone.testing import ScriptedEndpoint, ScriptedModel

BOUND_S: Final = scaled(20.0)
"""No test waits longer for anything."""
ANSWERS: Final = {"count": "one two three four five", "silence": ""}
CONTEXT_TOKENS: Final = 300
SLOTS: Final = 2
HALFWAY: Final = 0.5
_LOOK_S: Final = 0.01


class Rig(Protocol):
    """An endpoint that is started, loading, and does what the test says from there on."""

    @property
    def endpoint(self) -> Endpoint:
        """What is tested."""

    def load(self) -> None:
        """Let it become ready, and wait for that."""

    def fail(self, reason: str) -> None:
        """Let it find no model, and wait for that."""

    def hold(self) -> None:
        """Let nothing be generated from now on."""

    def await_held(self) -> None:
        """Wait until what was submitted has its place."""

    def release(self) -> None:
        """Let it go on."""


class LocalRig:
    """A model without a file behind a real inference thread."""

    def __init__(self, answers: Mapping[str, str] = ANSWERS) -> None:
        self._model = ScriptedModel(answers, context_tokens=CONTEXT_TOKENS, slots=SLOTS)
        self._may_go_on, self._halfway = threading.Event(), threading.Event()
        self._fault: str | None = None
        self.endpoint = LocalEndpoint(self._load, name="rig")
        self.endpoint.start()
        assert self._halfway.wait(BOUND_S)

    def load(self) -> None:
        self._may_go_on.set()
        assert self.endpoint.counter(BOUND_S) is not None

    def fail(self, reason: str) -> None:
        self._fault = reason
        self._may_go_on.set()
        with suppress(CommandError):
            self.endpoint.counter(BOUND_S)

    def hold(self) -> None:
        self._model.hold()

    def await_held(self) -> None:
        assert self._model.held.wait(BOUND_S)

    def release(self) -> None:
        self._model.release()

    def _load(self, report: Report) -> Model:
        go_on(report, HALFWAY)
        self._halfway.set()
        while not self._may_go_on.wait(_LOOK_S):
            go_on(report, HALFWAY)
        if self._fault is not None:
            raise OperatorError(self._fault)
        return self._model


class ScriptedRig:
    """An endpoint that is a script."""

    def __init__(self, answers: Mapping[str, str] = ANSWERS) -> None:
        self.endpoint = ScriptedEndpoint(
            answers,
            name="rig",
            context_tokens=CONTEXT_TOKENS,
            slots=SLOTS,
            state=State(Phase.LOADING, progress=HALFWAY),
        )
        self.endpoint.start()

    def load(self) -> None:
        self.endpoint.become(State(Phase.READY))

    def fail(self, reason: str) -> None:
        self.endpoint.become(State(Phase.FAILED, reason))

    def hold(self) -> None:
        self.endpoint.hold()

    def await_held(self) -> None:
        """Nothing to wait for: it has its place when `submit` returns."""

    def release(self) -> None:
        self.endpoint.release()
