"""Prompts of models with and without a template, and with a token that begins every text."""

import pytest

from cuttlebone.errors import CommandError, JobError
from cuttlebone.generation.request import GenerationRequest, Turn
from cuttlebone.inference.model import Token
from cuttlebone.inference.prompts import PromptMaker
from cuttlebone.testing import ScriptedModel
from cuttlebone_abi import ErrorCode
from inference.conftest import ask
from stopping import StoppedAfter


class BeginningModel(ScriptedModel):
    """Wants token 300 before every prompt."""

    @property
    def begins_with(self) -> Token | None:
        """The token."""
        return Token(300)


def text(model: ScriptedModel, tokens: tuple[Token, ...]) -> str:
    """Prompt tokens as text."""
    return b"".join(model.piece(token) for token in tokens).decode()


def test_without_a_template_one_prompt_is_sent_as_plain_text() -> None:
    model = ScriptedModel(template=None)
    tokens = PromptMaker(model).tokens(ask("hello <|end|>"))
    assert text(model, tokens) == "hello <|end|>"


def test_without_a_template_a_conversation_is_refused() -> None:
    request = GenerationRequest("j", "t", (Turn("system", "s"), Turn("user", "u")), None, 1)
    with pytest.raises(CommandError, match="no chat template") as refusal:
        PromptMaker(ScriptedModel(template=None)).tokens(request)
    assert refusal.value.code is ErrorCode.UNSUPPORTED


def test_the_token_that_begins_a_text_is_put_in_front_once() -> None:
    raw = GenerationRequest("j", "t", None, "a", 1)
    assert PromptMaker(BeginningModel()).tokens(raw) == (300, ord("a"))


def test_a_prompt_that_leaves_one_token_of_the_context_is_accepted_for_one() -> None:
    maker = PromptMaker(ScriptedModel(context_tokens=10))
    assert maker.prepare(GenerationRequest("j", "t", None, "x" * 9, 7)).max_tokens == 1
    with pytest.raises(CommandError, match="10 tokens and leaves no room"):
        maker.tokens(GenerationRequest("j", "t", None, "x" * 10, 1))


def conversation(turns: int, stopped: StoppedAfter) -> GenerationRequest:
    """A conversation that is wanted as long as `stopped` says."""
    said = tuple(Turn("user", "a") for _ in range(turns))
    return GenerationRequest("j", "t", said, None, 1, check_wanted=stopped)


def test_a_long_conversation_is_left_as_soon_as_nobody_wants_it() -> None:
    maker = PromptMaker(ScriptedModel(context_tokens=100_000))
    wanted = StoppedAfter(1_000_000)
    maker.count(conversation(1000, wanted))

    for looks in (0, wanted.asked // 4, wanted.asked - 1):
        stopped = StoppedAfter(looks)
        with pytest.raises(JobError):
            maker.count(conversation(1000, stopped))
        assert stopped.asked == looks + 1


def test_somebody_asks_often_enough_whether_a_long_conversation_is_wanted() -> None:
    maker = PromptMaker(ScriptedModel(context_tokens=100_000))
    few, many = StoppedAfter(1_000_000), StoppedAfter(1_000_000)
    maker.count(conversation(100, few))
    maker.count(conversation(1100, many))
    assert many.asked - few.asked > 1000
