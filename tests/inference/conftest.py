"""Models to test with: the fake, and the demo model loaded once for all tests."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.generation.outcome import FailedGeneration, Outcome, Piece
from cuttlebone.generation.request import GenerationRequest, Turn
from cuttlebone.generation.ticket import Generation
from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama import LlamaOptions
from cuttlebone.inference.llama.loading import open_model
from cuttlebone.inference.llama.model import LlamaModel
from cuttlebone.inference.sequence import BatchLimits
from cuttlebone.inference.thread import InferenceThread
from cuttlebone.testing import ScriptedModel

BOUND_S = scaled(60.0)
"""No test waits longer for anything."""
STORY = {"story": "Once upon a time there was a fox"}


def ask(
    prompt: str = "hello", *, max_tokens: int = 16, job: str = "job", tenant: str = "tenant"
) -> GenerationRequest:
    """Make a request with one user turn."""
    return GenerationRequest(
        job=job,
        tenant=tenant,
        turns=(Turn("user", prompt),),
        raw_prompt=None,
        max_tokens=max_tokens,
    )


def collect(generation: Generation) -> tuple[list[str], Outcome]:
    """Take everything that comes, saying `go on` to each piece if it asks."""
    pieces: list[str] = []
    while True:
        match generation.next(BOUND_S):
            case None:
                raise AssertionError(f"nothing came within {BOUND_S} s after {pieces}")
            case Piece(text):
                pieces.append(text)
                if generation.request.asks_verdict:
                    generation.verdict(stop=False)
            case outcome:
                return pieces, outcome


def failure(generation: Generation) -> FailedGeneration:
    """The outcome of a generation that has to fail."""
    outcome = collect(generation)[1]
    assert isinstance(outcome, FailedGeneration), outcome
    return outcome


def count(thread: InferenceThread, request: GenerationRequest) -> int:
    """How many tokens the prompt of a request has."""
    counter = thread.counter(BOUND_S)
    assert counter is not None
    return counter.count(request)


@contextmanager
def serving(model: ScriptedModel, limits: BatchLimits | None = None) -> Iterator[InferenceThread]:
    """Serve a fake model while the body runs."""
    thread = InferenceThread(lambda _report: model, limits=limits or BatchLimits())
    thread.start()
    thread.wait_until_settled(BOUND_S)
    try:
        yield thread
    finally:
        model.release()
        thread.stop()


@pytest.fixture(scope="session")
def demo_options() -> LlamaOptions:
    """How the demo model is opened in tests."""
    return LlamaOptions(context_tokens_max=2048, kv_shape=KvShape.streams(8), threads=1)


@pytest.fixture(scope="session")
def trial_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the results of trials are kept for one test session."""
    return tmp_path_factory.mktemp("trials")


@pytest.fixture(scope="session")
def demo_thread(
    demo_model: Path, demo_options: LlamaOptions, trial_folder: Path
) -> Iterator[InferenceThread]:
    """The demo model, served."""
    thread = InferenceThread(
        lambda report: open_model(demo_model, demo_options, trials=trial_folder, report=report),
        name="demo",
    )
    thread.start()
    thread.wait_until_settled(BOUND_S)
    yield thread
    thread.stop()


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.model)])
def served(request: pytest.FixtureRequest) -> Iterator[InferenceThread]:
    """A model behind its thread: what is tested with this holds for the fake and for the real one."""
    if request.param == "real":
        thread: InferenceThread = request.getfixturevalue("demo_thread")
        yield thread
        return
    with ExitStack() as stack:
        yield stack.enter_context(
            serving(ScriptedModel({"story": "Once upon a time there was a fox"}))
        )


def wait_until_decoding(model: ScriptedModel) -> None:
    assert model.held.wait(BOUND_S), "no batch was begun"


@pytest.fixture(scope="module")
def llama(demo_model: Path, trial_folder: Path) -> Iterator[LlamaModel]:
    """The demo model, owned by the thread of the tests."""
    options = LlamaOptions(context_tokens_max=512, kv_shape=KvShape.streams(8), threads=1)
    model = open_model(demo_model, options, trials=trial_folder)
    yield model
    model.close()
