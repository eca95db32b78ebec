"""Chat templates: a conversation in, scaffold and content apart out."""

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cuttlebone.errors import CommandError, OperatorError
from cuttlebone.generation.request import Turn
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

TEMPLATE_CHARS_MAX: Final = 256 << 10
RENDER_S_MAX: Final = 1.0
SCAFFOLD_CHARS_MAX: Final = 1 << 20
"""What one rendering may give besides the content of the turns."""

# Stands for the content of turn N while the template is rendered. The tabs tell afterwards
# whether the template trims content, which then has to be done by hand.
_MARKED: Final = re.compile("(\t?)\ue000([0-9]+)\ue001(\t?)")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a prompt. Only in a scaffold do special tokens mean anything."""

    text: str
    scaffold: bool


class _TooMuch(Exception):
    """A template goes on for longer than it may."""


class _Bounded(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which has no bound on repeated text, with one."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(
        self, context: Any, operator: str, left: Any, right: Any
    ) -> Any:  # Jinja's types
        """Carry out only what cannot make much out of little."""
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        small = numbers and abs(left) < 1 << 32 and abs(right) < 1 << 32
        if operator == "**" or not small:
            raise _TooMuch(f"the operator {operator} is limited to numbers below 2 to the 32nd")
        return super().call_binop(context, operator, left, right)


class ChatTemplate:
    """The chat template of a model. Immutable; rendered by any thread."""

    def __init__(self, source: str, *, begin_text: str = "", end_text: str = "") -> None:
        """Compile; raises OperatorError if the template is no Jinja or too long."""
        if len(source) > TEMPLATE_CHARS_MAX:
            raise OperatorError(
                f"the chat template of the model has {len(source)} characters; "
                f"at most {TEMPLATE_CHARS_MAX} are accepted"
            )
        environment = _Bounded(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise OperatorError(
                f"the chat template of the model is not valid Jinja: {printable(str(error))}"
            ) from None
        self._globals = {"bos_token": begin_text, "eos_token": end_text}

    def render(self, turns: Sequence[Turn]) -> list[Part]:
        """Render a conversation up to where the assistant speaks; raise CommandError.

        Content is not rendered at all but put in afterwards, so that nothing in it can be taken
        for scaffold. A template that would change content (other than by trimming it) is refused
        for this conversation: what it does cannot be told from what the content wants it to do.
        """
        marked = self._text([f"\t\ue000{at}\ue001\t" for at in range(len(turns))], turns)
        parts = list(_parts(marked, turns))
        plain = self._text([turn.content for turn in turns], turns)
        if "".join(part.text for part in parts) != plain:
            raise CommandError(
                ErrorCode.UNSUPPORTED,
                "the chat template of this model rewrites the content of a message; "
                "send the whole prompt yourself, with `raw`",
            )
        return parts

    def _text(self, contents: Sequence[str], turns: Sequence[Turn]) -> str:
        messages = [
            {"role": turn.role, "content": content}
            for turn, content in zip(turns, contents, strict=True)
        ]
        chars_max = SCAFFOLD_CHARS_MAX + sum(len(content) for content in contents)
        try:
            with _deadline(RENDER_S_MAX):
                return self._render(messages, chars_max)
        except CommandError:
            raise
        except _TooMuch as error:
            raise _unusable(str(error)) from None
        except Exception as error:  # noqa: BLE001  # a template is a program: any may come
            raise _unusable(f"{type(error).__name__}: {error}") from None

    def _render(self, messages: list[dict[str, str]], chars_max: int) -> str:
        chunks, chars = [], 0
        for chunk in self._template.generate(
            messages=messages,
            add_generation_prompt=True,
            raise_exception=_refused_by_template,
            **self._globals,
        ):
            chars += len(chunk)
            if chars > chars_max:
                raise _TooMuch(f"more than {chars_max} characters of output")
            chunks.append(chunk)
        return "".join(chunks)


def _parts(marked: str, turns: Sequence[Turn]) -> Iterator[Part]:
    at = 0
    for match in _MARKED.finditer(marked):
        yield from _scaffold(marked[at : match.start()])
        content = turns[int(match[2])].content
        content = content if match[1] else content.lstrip()
        yield Part(content if match[3] else content.rstrip(), scaffold=False)
        at = match.end()
    yield from _scaffold(marked[at:])


def _scaffold(text: str) -> Iterator[Part]:
    if text:
        yield Part(text, scaffold=True)


def _refused_by_template(message: str) -> NoReturn:
    raise CommandError(
        ErrorCode.INVALID_ARGUMENT,
        f"the chat template of this model refuses the conversation: {printable(str(message))}",
    )


def _unusable(reason: str) -> CommandError:
    return CommandError(
        ErrorCode.UNSUPPORTED,
        f"the chat template of this model cannot be rendered: {printable(reason)}",
    )


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise _TooMuch in the body once `seconds` are over.

    By tracing, because a rendering is Python code that yields nothing while it loops: a check
    between chunks would never run, and a thread cannot be stopped from outside.
    """
    end = time.monotonic() + seconds

    def trace(_frame: FrameType, _event: str, _argument: object) -> Any:  # as sys.settrace has it
        if time.monotonic() > end:
            raise _TooMuch(f"rendering took longer than {seconds} s")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
