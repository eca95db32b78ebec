"""Chat templates keep scaffold and content apart, and cannot run away."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.request import Turn
from cuttlebone.inference.chat import TEMPLATE_CHARS_MAX, ChatTemplate
from cuttlebone.inference.prompt_part import Part
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


def test_a_template_knows_the_day_and_it_does_not_change_while_it_is_rendered() -> None:
    days = iter([datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)])
    source = "{{ strftime_now('%d %b %Y') }}{% for m in messages %}{{ m.content }}{% endfor %}"
    dated = ChatTemplate(source, now=lambda: next(days))
    assert [part.text for part in dated.render([Turn("user", "!")])] == ["30 Nov 2026", "!"]


def test_a_template_that_looks_into_the_host_or_changes_the_conversation_is_an_error() -> None:
    for source in (
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__.os }}",
        "{{ strftime_now.__self__.today() }}",
        "{{ strftime_now('%1000000000Y') }}",
        "{% import 'os' as os %}",
        "{{ 1 // 0 }}",
    ):
        with pytest.raises(CommandError) as refusal:
            ChatTemplate(source).render([Turn("user", "hello")])
        assert refusal.value.code is ErrorCode.UNSUPPORTED


def test_what_a_rendering_may_make_grows_with_the_conversation() -> None:
    keeps_all = ChatTemplate(
        "{% set all = namespace(text='') %}{% for m in messages %}"
        "{% set all.text = all.text ~ m.content %}{% endfor %}{{ all.text }}"
    )
    conversation = [Turn("user", "x" * 3000)] * 200
    assert len(keeps_all.render(conversation)) == 200


def test_the_output_of_a_template_is_bounded() -> None:
    source = "{% for a in range(90000) %}{{ 'xxxxxxxxxxxxxxx' }}{% endfor %}"
    with pytest.raises(CommandError, match="characters of output"):
        ChatTemplate(source).render([Turn("user", "hello")])


@pytest.mark.parametrize(
    "source",
    [
        "{% if %}",
        "{{ messages | no_such_filter }}",
        "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
        "{{ " + "(" * 60_000 + "1" + ")" * 60_000 + " }}",
        "{{ 1" + " + 1" * 50_000 + " }}",
        "x" * (TEMPLATE_CHARS_MAX + 1),
    ],
    ids=["no end", "no filter", "loops", "brackets", "sum", "long"],
)
def test_what_is_no_template_is_refused_when_the_model_is_loaded(source: str) -> None:
    with pytest.raises(OperatorError, match="chat template"):
        ChatTemplate(source)
