"""What stands before the first turn: what a template puts there by itself, or nothing."""

import pytest

from cuttlebone.errors import CommandError
from cuttlebone.generation.request import Turn
from cuttlebone.inference.chat import ChatTemplate
from cuttlebone_abi import ErrorCode

USER = (Turn("user", "Who are you?"),)
SYSTEM = (Turn("system", "Be brief."), *USER)
LOOP = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
DEFAULT = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are Small.<|im_end|>\n{% endif %}"
)
DATED = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{% set said = messages[0].content %}"
    "{% set messages = messages[1:] %}{% else %}{% set said = '' %}{% endif %}"
    "<|head|>system<|end|>\n\nToday is the first.\n\n{{ said }}<|eot|>"
    "{% for m in messages %}<|head|>{{ m.role }}<|end|>\n\n{{ m.content | trim }}<|eot|>{% endfor %}"
    "{% if add_generation_prompt %}<|head|>assistant<|end|>\n\n{% endif %}"
)
COUNTED = (
    "{% if messages[0].role != 'system' %}You are Small. {% endif %}"
    "{% for m in messages %}[{{ loop.index }}: {{ m.content }}]{% endfor %}"
)


def rendered(source: str, turns: tuple[Turn, ...], *, default_system: bool) -> str:
    template = ChatTemplate(source, begin_text="<s>", end_text="</s>")
    return "".join(part.text for part in template.render(turns, default_system=default_system))


def test_a_template_may_put_a_system_message_before_the_first_turn() -> None:
    assert rendered(DEFAULT + LOOP, USER, default_system=True).startswith("<|im_start|>system\nYou")


@pytest.mark.parametrize("turns", [USER, (*USER, Turn("assistant", "I"), *USER)])
def test_without_it_the_text_begins_with_the_first_turn(turns: tuple[Turn, ...]) -> None:
    bare = rendered(DEFAULT + LOOP, turns, default_system=False)

    assert bare == rendered(LOOP, turns, default_system=True)


def test_the_token_that_begins_a_text_stays() -> None:
    assert rendered(DATED, USER, default_system=False) == (
        "<s><|head|>user<|end|>\n\nWho are you?<|eot|><|head|>assistant<|end|>\n\n"
    )


def test_a_token_that_begins_texts_and_turns_alike_stands_there_once() -> None:
    template = ChatTemplate(DEFAULT + LOOP, begin_text="<|im_start|>", end_text="<|im_end|>")
    parts = template.render(USER, default_system=False)

    assert "".join(part.text for part in parts) == rendered(LOOP, USER, default_system=True)


def test_a_conversation_that_the_assistant_begins_is_served_too() -> None:
    turns = (Turn("assistant", "Yes?"), *USER)

    assert rendered(DEFAULT + LOOP, turns, default_system=False) == rendered(
        LOOP, turns, default_system=True
    )


@pytest.mark.parametrize("source", [LOOP, DEFAULT + LOOP, DATED])
def test_the_system_message_of_a_block_stays(source: str) -> None:
    assert rendered(source, SYSTEM, default_system=False) == rendered(
        source, SYSTEM, default_system=True
    )


def test_a_template_that_puts_nothing_there_is_taken_as_it_is() -> None:
    assert rendered(LOOP, USER, default_system=False) == rendered(LOOP, USER, default_system=True)


def test_where_the_header_of_a_turn_cannot_be_told_the_conversation_is_refused() -> None:
    with pytest.raises(CommandError, match="cannot be told") as refusal:
        rendered(COUNTED, USER, default_system=False)
    assert refusal.value.code is ErrorCode.UNSUPPORTED
