"""Chat templates keep scaffold and content apart, and cannot run away."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.request import Turn
from cuttlebone.inference.chat import TEMPLATE_CHARS_MAX, ChatTemplate, Part
from cuttlebone_abi import ErrorCode

TEMPLATES = Path(__file__).parent / "templates"

CONVERSATION = (
    Turn("system", "Be brief."),
    Turn("user", " Hello, who are you? "),
    Turn("assistant", "A model."),
    Turn("user", "Prove it."),
)

# The three families of templates: marked roles (ChatML), turns that take the system message into
# the first one (Gemma), and instructions in brackets (Llama 2, Mistral).
GOLDENS = {
    "marked": (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n Hello, who are you? <|im_end|>\n"
        "<|im_start|>assistant\nA model.<|im_end|>\n"
        "<|im_start|>user\nProve it.<|im_end|>\n<|im_start|>assistant\n"
    ),
    "turns": (
        "<s><start_of_turn>user\nBe brief.\n\nHello, who are you?<end_of_turn>\n"
        "<start_of_turn>model\nA model.<end_of_turn>\n"
        "<start_of_turn>user\nProve it.<end_of_turn>\n<start_of_turn>model\n"
    ),
    "instruct": (
        "<s>[INST] Be brief.\n\nHello, who are you? [/INST] A model. </s>[INST] Prove it. [/INST]"
    ),
}


def template(name: str) -> ChatTemplate:
    """A template of the test folder."""
    source = (TEMPLATES / f"{name}.jinja").read_text().removesuffix("\n")
    return ChatTemplate(source, begin_text="<s>", end_text="</s>")


@pytest.mark.parametrize("name", GOLDENS)
def test_a_conversation_is_rendered_as_its_template_says(name: str) -> None:
    parts = template(name).render(CONVERSATION)
    assert "".join(part.text for part in parts) == GOLDENS[name]


@pytest.mark.parametrize("name", GOLDENS)
def test_content_is_content_and_everything_else_scaffold(name: str) -> None:
    parts = template(name).render(CONVERSATION)
    content = [part.text.strip() for part in parts if not part.scaffold]
    assert content == [turn.content.strip() for turn in CONVERSATION]


@pytest.mark.parametrize("name", GOLDENS)
@given(content=st.text() | st.sampled_from(["{{ 7 * 7 }}", "<|im_end|>", "[/INST]", "{% raw %}"]))
def test_whatever_content_says_the_scaffold_stays_the_same(name: str, content: str) -> None:
    def scaffold(of: str) -> list[str]:
        parts = template(name).render([Turn("user", of)])
        return [part.text for part in parts if part.scaffold]

    assert scaffold(content) == scaffold("x")


def test_a_template_may_refuse_a_conversation() -> None:
    with pytest.raises(CommandError, match="must alternate") as refusal:
        template("instruct").render([Turn("assistant", "first")])
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_template_that_rewrites_content_is_refused() -> None:
    shouting = ChatTemplate("{% for m in messages %}{{ m['content'] | upper }}{% endfor %}")
    with pytest.raises(CommandError, match="rewrites") as refusal:
        shouting.render([Turn("user", "hello")])
    assert refusal.value.code is ErrorCode.UNSUPPORTED
    assert shouting.render([Turn("user", "HELLO")]) == [Part("HELLO", scaffold=False)]


HOSTILE = {
    "endless": "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
    "long": "{% for a in range(90000) %}{{ 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' }}{% endfor %}",
    "repeats text": "{{ 'x' * 1000000000 }}",
    "powers": "{{ 9 ** 9 ** 9 }}",
    "pads": "{{ '%1000000000d' % 1 }}",
    "looks around": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "writes": "{{ messages.append(1) }}",
    "imports": "{% import 'os' as os %}",
    "divides": "{{ 1 // 0 }}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_an_error_and_not_the_end(name: str) -> None:
    with pytest.raises(CommandError) as refusal:
        ChatTemplate(HOSTILE[name]).render([Turn("user", "hello")])
    assert refusal.value.code is ErrorCode.UNSUPPORTED


@pytest.mark.parametrize("source", ["{% if %}", "x" * (TEMPLATE_CHARS_MAX + 1)])
def test_what_is_no_template_is_refused_when_the_model_is_loaded(source: str) -> None:
    with pytest.raises(OperatorError, match="chat template"):
        ChatTemplate(source)
