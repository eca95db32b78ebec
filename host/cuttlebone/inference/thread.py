"""The thread that owns one resident model and serves every generation of every job."""

import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import Final, Self, TypeAlias

import structlog

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.figures import Figures
from cuttlebone.generation.inference import TokenCounter
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.state import Phase, State
from cuttlebone.generation.ticket import CancelAsked, Generation, VerdictGiven
from cuttlebone.inference.inbox import (
    Inbox,
    LoadAsked,
    Message,
    StopAsked,
    Submitted,
    UnloadAsked,
)
from cuttlebone.inference.meter import Meter
from cuttlebone.inference.model import Model, ModelInfo
from cuttlebone.inference.progress import LoadAborted, Report
from cuttlebone.inference.prompts import PromptMaker, check_numbers
from cuttlebone.inference.sequence import BatchLimits
from cuttlebone.inference.tick import Ticker
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

DEATHS_MAX: Final = 3
"""Times in a row that serving may break before the model is given up."""
SERVED_WELL_S: Final = 60.0
"""Serving for that long ends a row of deaths."""

_log = structlog.get_logger(__name__)


Load: TypeAlias = Callable[[Report], Model]
"""Loads the model, reporting how far that is; raises OperatorError, LoadAborted."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    info: ModelInfo
    prompts: PromptMaker


class InferenceThread:
    """One model and the generations that it serves, between `start` and `stop` or as a `with` block.

    Owned by whoever made it; `submit`, `counter`, `state` and `info` are for any thread. The
    model and the `Ticker` belong to the inference thread alone, except that prompts are made by
    the submitting threads. Whatever `submit` accepts gets an outcome, also when loading fails,
    when the thread breaks and when it is stopped. `_coming` is what the load that is under way, or
    the next one, comes to; a new one takes its place when the model goes, and None ends the row.
    """

    def __init__(
        self,
        load: Load,
        *,
        name: str = "model",
        on_demand: bool = False,
        closed: Callable[[], None] = lambda: None,
        limits: BatchLimits = BatchLimits(),  # noqa: B008 -- frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """With `on_demand` the model is loaded for the first request, and again after `unload`.

        `closed` is called each time that the model has been freed.
        """
        self._load = load
        self._on_demand = on_demand
        self._closed = closed
        self._accepted: list[Generation] = []
        self._accepting = threading.Lock()
        self._name = name
        self._limits = limits
        self._clock = clock
        self._inbox = Inbox()
        self._meter = Meter()
        self._stopping = threading.Event()
        self._state = State(Phase.UNLOADED if on_demand else Phase.LOADING)
        self._progress = 0.0
        self._used_s = clock()
        self._coming: Future[_Loaded | None] = Future()
        self._thread = threading.Thread(target=self._run, name=f"inference-{name}", daemon=True)

    def start(self) -> None:
        """Begin to load; generations may be submitted at once and wait for it."""
        self._thread.start()

    def stop(self) -> None:
        """End every generation as cancelled, free the model and join the thread.

        A load is aborted at its next report.
        """
        self._stopping.set()
        self._inbox.put(StopAsked())
        if self._thread.ident is None:
            self._close(State(Phase.STOPPED))
        else:
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def submit(self, request: GenerationRequest) -> Generation:
        """Accept a request; raise CommandError before anything is spent.

        Codes: invalid_argument, limit_exceeded, context_overflow, invalid_grammar, unsupported,
        and model_load_failed when the model cannot be served. While the model is loading these
        become the outcome of the generation, since the prompt cannot be made yet.
        """
        check_numbers(request)
        loaded = self._loaded
        prepared = loaded.prompts.prepare(request) if loaded is not None else None
        generation = Generation(request, self._put, self._clock)
        with self._accepting:
            if not self._inbox.put(Submitted(generation, prepared)):
                raise CommandError(ErrorCode.MODEL_LOAD_FAILED, self._unserved())
            self._used_s = self._clock()
            self._accepted = [one for one in self._accepted if not one.ended] + [generation]
        return generation

    def unload(self) -> None:
        """Ask a thread that loads on demand to free its model, unless something uses it."""
        if self._on_demand:
            self._inbox.put(UnloadAsked())

    @property
    def busy(self) -> bool:
        """Whether a generation that was accepted has no outcome yet."""
        with self._accepting:
            return any(not one.ended for one in self._accepted)

    @property
    def used_s(self) -> float:
        """When a request was accepted last, by the clock of the constructor."""
        return self._used_s

    def counter(self, timeout_s: float) -> TokenCounter | None:
        """What counts tokens, once the model is loaded; None when that takes longer than `timeout_s`.

        Raises CommandError (model_load_failed) if the model cannot be served.
        """
        if self._state.phase is Phase.UNLOADED:
            self._inbox.put(LoadAsked())
        try:
            loaded = self._coming.result(timeout_s)
        except TimeoutError:
            return None
        if loaded is None:
            raise CommandError(ErrorCode.MODEL_LOAD_FAILED, self._unserved())
        return loaded.prompts

    def wait_until_settled(self, timeout_s: float | None = None) -> State:
        """Wait while the model is being loaded; answer the state then."""
        wait([self._coming], timeout_s)
        return self.state

    @property
    def name(self) -> str:
        """What the model is called in messages."""
        return self._name

    @property
    def loaded(self) -> bool:
        """Whether the model is there."""
        return self._loaded is not None

    @property
    def state(self) -> State:
        """Whether it can serve, or how far it is with loading."""
        state = self._state
        if state.phase is not Phase.LOADING:
            return state
        return replace(state, progress=self._progress)

    @property
    def figures(self) -> Figures:
        """What it has done so far, and what it is doing now."""
        return self._meter.figures()

    @property
    def info(self) -> ModelInfo | None:
        """What is known of the model, while it is loaded."""
        loaded = self._loaded
        return loaded.info if loaded is not None else None

    @property
    def _loaded(self) -> _Loaded | None:
        coming = self._coming
        return coming.result() if coming.done() else None

    def _put(self, message: VerdictGiven | CancelAsked) -> None:
        self._inbox.put(message)

    def _unserved(self) -> str:
        state = self._state
        reason = f": {state.reason}" if state.reason else ""
        return f"the model {printable(self._name)} is not served ({state.phase}){reason}"

    # In the thread.

    def _run(self) -> None:
        final = State(Phase.FAILED, "its thread ended")
        try:
            final = self._serve_on()
        finally:  # whatever happens, nobody may wait for a thread that is gone
            self._close(State(Phase.STOPPED) if self._stopping.is_set() else final)

    def _serve_on(self) -> State:
        """Serve, again after each death; the state that is left when that is over."""
        deaths = 0
        final = State(Phase.STOPPED)
        while not self._stopping.is_set() and deaths < DEATHS_MAX:
            if self._on_demand and not self._demanded():
                break
            begun_s = self._clock()
            try:
                self._serve()
            except LoadAborted:
                break
            except OperatorError as error:
                _log.error("model cannot be loaded", model=self._name, reason=str(error))
                final = State(Phase.FAILED, str(error))
                break
            except Exception as error:  # noqa: BLE001 -- the last resort of this thread
                # Without the values of variables, as some renderers would add: they hold prompts.
                _log.error(
                    "inference thread broke", model=self._name, traceback=traceback.format_exc()
                )
                self._meter.restarts += 1
                deaths = 1 if self._clock() - begun_s > SERVED_WELL_S else deaths + 1
                final = State(
                    Phase.FAILED, f"it broke: {type(error).__name__}: {printable(str(error))}"
                )
                self._state = final
        return final

    def _demanded(self) -> bool:
        """Wait until the model is wanted; False if the thread is to stop instead."""
        self._state = State(Phase.UNLOADED, self._state.reason)
        self._inbox.await_demand()
        return not self._stopping.is_set()

    def _close(self, final: State) -> None:
        self._state = final
        if not self._coming.done():  # a thread that never started may be stopped twice
            self._coming.set_result(None)
        stopped = final.phase is Phase.STOPPED
        code = ErrorCode.CANCELLED if stopped else ErrorCode.MODEL_LOAD_FAILED
        self._answer(self._inbox.close(), code)

    def _serve(self) -> None:
        """Load and tick until asked to stop."""
        self._progress = 0.0
        self._state = State(Phase.LOADING, self._state.reason)
        model = self._load(self._report)
        try:
            prompts = PromptMaker(model)
            ticker = Ticker(model, prompts, self._inbox, self._limits, self._meter, self._clock)
            self._state = State(Phase.READY)
            self._coming.set_result(_Loaded(model.info, prompts))
            self._tick_on(ticker)
        finally:
            if self._coming.done():
                self._coming = Future()
            model.close()
            self._closed()

    def _report(self, done: float) -> bool:
        self._progress = done
        return not self._stopping.is_set()

    def _tick_on(self, ticker: Ticker) -> None:
        try:
            while ticker.tick():
                pass
        except BaseException:
            ticker.fail_all(ErrorCode.INFER_FAILED, "the inference thread broke; it starts again")
            raise
        ticker.fail_all(ErrorCode.CANCELLED, "the model is no longer served: the host is stopping")

    def _answer(self, messages: list[Message], code: ErrorCode) -> None:
        for message in messages:
            if isinstance(message, Submitted):
                message.generation.fail(code, self._unserved())
