"""An endpoint without a model and without a thread: whoever asks it runs its script."""

import threading
import time
from collections.abc import Mapping
from typing import assert_never

from cuttlebone.endpoints.endpoint import EndpointCapabilities, Mode
from cuttlebone.errors import CommandError
from cuttlebone.generation.figures import Figures
from cuttlebone.generation.inference import TokenCounter
from cuttlebone.generation.outcome import CANCELLED, FailedGeneration, Finished, Outcome
from cuttlebone.generation.request import GenerationRequest, Grammar, JsonSchema, RequestField
from cuttlebone.generation.state import Phase, State
from cuttlebone.generation.ticket import CancelAsked, Generation, VerdictGiven
from cuttlebone.inference.constraints import check_grammar, check_schema, json_fault
from cuttlebone.inference.meter import Meter
from cuttlebone.inference.prompts import check_numbers
from cuttlebone.inference.schema_keeping import kept_schema
from cuttlebone.testing.scripted_generation import ByteCounter, ScriptedGeneration, prompt_of
from cuttlebone_abi import ErrorCode, Finish


class ScriptedEndpoint:
    """An endpoint that answers by script, word by word, in the threads of those who ask.

    Owner: the test, which may let generations stay in their places (`hold`, `release`), end one as
    it likes (`end`) and say how far the model is (`become`). One lock guards all, and no call waits
    for anything while it has it.
    """

    def __init__(
        self,
        answers: Mapping[str, str | Outcome] | None = None,
        *,
        name: str = "scripted",
        context_tokens: int = 4096,
        slots: int = 64,
        fields: frozenset[RequestField] = frozenset(RequestField),
        state: State = State(Phase.READY),  # noqa: B008 -- frozen
    ) -> None:
        """`answers` maps a part of a prompt to what is said to it, else `ok`, or to its whole outcome."""
        self.name = name
        self.requests: list[GenerationRequest] = []
        """What was accepted, in order."""
        self.cancelled: list[GenerationRequest] = []
        """Those whose cancel came before their end."""
        self._answers = dict(answers or {})
        self._counter = ByteCounter(context_tokens)
        self._slots = slots
        self._fields = fields
        self._meter = Meter()
        self._changed = threading.Condition(threading.RLock())
        self._state = state
        self._held = False
        self._sessions: dict[Generation, ScriptedGeneration] = {}

    # For the test.

    def hold(self) -> None:
        """Let those that have words to say keep them until `release`."""
        with self._changed:
            self._held = True

    def release(self) -> None:
        """Go on."""
        with self._changed:
            self._held = False
            self._go_on()

    def end(self, part: str, outcome: Outcome) -> None:
        """End the generation whose prompt contains `part`, having cost what the outcome says."""
        with self._changed:
            sessions = self._sessions.values()
            session = next(one for one in sessions if part in prompt_of(one.generation.request))
            self._end_as(session, outcome)
            self._go_on()

    def become(self, state: State) -> None:
        """Be in that state; one that has failed or was stopped ends every generation."""
        with self._changed:
            self._state = state
            self._changed.notify_all()
            if state.phase in {Phase.FAILED, Phase.STOPPED}:
                stopped = state.phase is Phase.STOPPED
                code = ErrorCode.CANCELLED if stopped else ErrorCode.MODEL_LOAD_FAILED
                for session in list(self._sessions.values()):
                    self._fail(session, code, self._unserved())
            self._go_on()

    # The protocol.

    @property
    def capabilities(self) -> EndpointCapabilities:
        """What the constructor was told; the numbers while it is ready."""
        ready = self.state.phase is Phase.READY
        return EndpointCapabilities(
            mode=Mode.IN_PROCESS,
            context_tokens=self._counter.context_tokens if ready else None,
            slots=self._slots if ready else None,
            fields=self._fields,
            weakens=frozenset(),
            stays_local=True,
        )

    @property
    def state(self) -> State:
        """What the test has said last."""
        with self._changed:
            return self._state

    @property
    def figures(self) -> Figures:
        """What was counted. There are no batches."""
        with self._changed:
            return self._meter.figures()

    def submit(self, request: GenerationRequest) -> Generation:
        """Accept a request and run it as far as it goes; raise CommandError."""
        check_numbers(request)
        with self._changed:
            self._check_served()
            if self._state.phase is Phase.READY:
                self._check(request)
            generation = Generation(request, self._hear, time.monotonic)
            self.requests.append(request)
            self._sessions[generation] = self._scripted(generation)
            self._go_on()
        return generation

    def counter(self, timeout_s: float) -> TokenCounter | None:
        """What counts bytes, once the model is loaded; raise CommandError."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.phase is not Phase.LOADING, timeout_s)
            self._check_served()
            return self._counter if self._state.phase is Phase.READY else None

    def start(self) -> None:
        """Do nothing: the test says how far the model is."""

    def stop(self) -> None:
        """End every generation as cancelled."""
        self.become(State(Phase.STOPPED))

    # With the lock.

    def _hear(self, message: VerdictGiven | CancelAsked, /) -> None:
        with self._changed:
            session = self._sessions.get(message.generation)
            if session is None:
                return
            match message:
                case VerdictGiven(stop=stop):
                    self._judge(session, stop=stop)
                case CancelAsked():
                    self.cancelled.append(message.generation.request)
                    self._fail(session, ErrorCode.CANCELLED, CANCELLED)
                case _:
                    assert_never(message)
            self._go_on()

    def _scripted(self, generation: Generation) -> ScriptedGeneration:
        request = generation.request
        prompt = prompt_of(request)
        script = next((said for part, said in self._answers.items() if part in prompt), "ok")
        room = self._counter.context_tokens - self._counter.count(request)
        return ScriptedGeneration.of(generation, script, min(request.max_tokens, max(room, 1)))

    def _go_on(self) -> None:
        """Give places to those that wait, and words to those that have one, as far as that goes."""
        while self._state.phase is Phase.READY:
            self._begin()
            if not any(self._run(one) for one in list(self._sessions.values())):
                break
        running = sum(one.running for one in self._sessions.values())
        self._meter.running, self._meter.waiting = running, len(self._sessions) - running

    def _begin(self) -> None:
        waiting = [one for one in self._sessions.values() if not one.running]
        free = self._slots - (len(self._sessions) - len(waiting))
        for session in waiting[:free]:
            try:
                self._check(session.generation.request)
            except CommandError as error:
                self._fail(session, error.code, error.message)
                continue
            session.running = session.generation.admit()
            if session.running and session.outcome is None:
                self._spend(session, tokens_in=self._counter.count(session.generation.request))

    def _run(self, session: ScriptedGeneration) -> bool:
        """Let one go as far as it can; tell whether it has come to its end."""
        if not session.running:
            return False
        if session.outcome is not None:
            self._end_as(session, session.outcome)
        while session.generation in self._sessions and not (session.unjudged or self._held):
            if session.answer.finish is not None:
                self._finish(session, session.answer.finish)
            else:
                session.say()
                self._meter.tokens_out += 1
        return session.generation not in self._sessions

    def _judge(self, session: ScriptedGeneration, *, stop: bool) -> None:
        if session.unjudged:
            session.judged += 1
            if stop:
                session.answer.cut_after(session.judged)
                self._finish(session, Finish.GUEST)

    def _finish(self, session: ScriptedGeneration, finish: Finish) -> None:
        self._meter.finished += 1
        self._end(session, session.finished(finish))

    def _end_as(self, session: ScriptedGeneration, outcome: Outcome) -> None:
        """End a generation as it is scripted, whatever it has said."""
        session.generation.admit()
        self._spend(session, tokens_in=outcome.tokens_in)
        session.generation.spend(tokens_out=outcome.tokens_out)
        self._meter.tokens_out += outcome.tokens_out
        self._meter.finished += isinstance(outcome, Finished)
        self._meter.failed += isinstance(outcome, FailedGeneration)
        self._end(session, outcome)

    def _fail(self, session: ScriptedGeneration, code: ErrorCode, message: str) -> None:
        self._meter.cancelled += code is ErrorCode.CANCELLED
        self._meter.failed += code is not ErrorCode.CANCELLED
        del self._sessions[session.generation]
        session.generation.fail(code, message)

    def _end(self, session: ScriptedGeneration, outcome: Outcome) -> None:
        del self._sessions[session.generation]
        session.generation.end(outcome, drop_pieces=session.answer.finish is Finish.GUEST)

    def _spend(self, session: ScriptedGeneration, *, tokens_in: int) -> None:
        self._meter.tokens_in += tokens_in
        session.generation.spend(tokens_in=tokens_in)

    def _check_served(self) -> None:
        if self._state.phase in {Phase.FAILED, Phase.STOPPED}:
            raise CommandError(ErrorCode.MODEL_LOAD_FAILED, self._unserved())

    def _check(self, request: GenerationRequest) -> None:
        tokens, context = self._counter.count(request), self._counter.context_tokens
        if tokens >= context:
            raise CommandError(
                ErrorCode.CONTEXT_OVERFLOW,
                f"{tokens} tokens leave no room in a context of {context}",
            )
        match request.constraint:
            case JsonSchema() as constraint:
                check_schema(constraint)
                kept_schema(constraint.schema)
                json_fault(constraint.schema)
            case Grammar() as grammar:
                check_grammar(grammar)
            case None:
                pass

    def _unserved(self) -> str:
        return f"the model {self.name} is not served ({self._state.phase}): {self._state.reason}"
