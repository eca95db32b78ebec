"""The throughput of a model, measured on a scripted one."""

from itertools import count

import pytest

from cuttlebone.bench.throughput import Load, measure
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.endpoints.inference import EndpointInference
from cuttlebone.errors import OperatorError
from cuttlebone.generation.inference import Inference
from cuttlebone.generation.outcome import FailedGeneration
from cuttlebone.generation.state import Phase, State
from cuttlebone.testing import ScriptedEndpoint
from cuttlebone_abi import ErrorCode


def serving(endpoint: Endpoint) -> Inference:
    return EndpointInference(EndpointDirectory({"main": endpoint}))


def test_all_generations_of_a_round_are_counted() -> None:
    seconds = count()
    inference = serving(ScriptedEndpoint({"sea": "one two three four"}))
    load = Load(3, prompt_words=8, max_tokens=2)
    found = measure(inference, "main", load, clock=lambda: next(seconds))

    assert found.tokens_out == 3 * 2
    assert found.tokens_in > 3 * 8
    assert (found.seconds, found.tokens_per_s) == (1, 6)


def test_a_prompt_over_the_context_is_said_so() -> None:
    inference = serving(ScriptedEndpoint(context_tokens=20))
    with pytest.raises(OperatorError, match="context"):
        measure(inference, "main", Load(1, prompt_words=50, max_tokens=2))


def test_a_model_that_cannot_be_loaded_is_said_so() -> None:
    inference = serving(ScriptedEndpoint(state=State(Phase.FAILED, "no such file")))
    with pytest.raises(OperatorError, match="no such file"):
        measure(inference, "main", Load(1, prompt_words=1, max_tokens=1))


def test_a_generation_that_fails_ends_the_measurement() -> None:
    broken = FailedGeneration(ErrorCode.INFER_FAILED, "broken", tokens_in=1, tokens_out=0)
    inference = serving(ScriptedEndpoint({"sea": broken}))
    with pytest.raises(OperatorError, match="a generation failed: broken"):
        measure(inference, "main", Load(1, prompt_words=8, max_tokens=1))
