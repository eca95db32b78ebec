"""Chat templates: a conversation in, scaffold and content apart out."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NoReturn

from jinja2 import TemplateError
from jinja2.runtime import Context

from cuttlebone.errors import CommandError, JobError, OperatorError
from cuttlebone.generation.request import Turn
from cuttlebone.inference.bounded_jinja import BoundedEnvironment
from cuttlebone.inference.first_turn import turns_before, without_default_system
from cuttlebone.inference.prompt_part import Part
from cuttlebone.inference.rendering_budget import RenderingBudget, TooMuch
from cuttlebone.inference.template_prices import BUDGET_KEY
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode

TEMPLATE_CHARS_MAX: Final = 256 << 10
SCAFFOLD_CHARS_MAX: Final = 1 << 20
"""What one rendering may give besides the content of the turns."""

# Stands for the content of turn N while the template is rendered. The tabs tell afterwards
# whether the template trims content, which then has to be done by hand.
_MARKED: Final = re.compile("(\t?)\ue000([0-9]+)\ue001(\t?)")

# Without widths, which would pad a day to any length.
_DATE_FORM: Final = re.compile("(?:[^%]|%-?[a-zA-Z%]){0,64}")


@dataclass(frozen=True, slots=True)
class _Occasion:
    """What all renderings of one prompt have in common."""

    now: datetime
    check_wanted: Callable[[], None]


class ChatTemplate:
    """The chat template of a model. Immutable; rendered by any thread."""

    def __init__(
        self,
        source: str,
        *,
        begin_text: str = "",
        end_text: str = "",
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Compile; raises OperatorError if the template is no Jinja or too long.

        `now` is for templates that tell the model what day it is.
        """
        if len(source) > TEMPLATE_CHARS_MAX:
            raise OperatorError(
                f"the chat template of the model has {len(source)} characters; "
                f"at most {TEMPLATE_CHARS_MAX} are accepted"
            )
        try:
            self._template = BoundedEnvironment().from_string(source)
        except (TemplateError, SyntaxError, RecursionError, MemoryError) as error:
            # The last three come from Python's own compiler, for what nests too deep for it.
            raise OperatorError(
                f"the chat template of the model is not valid Jinja: {printable(str(error))}"
            ) from None
        self._tokens = {"bos_token": begin_text, "eos_token": end_text}
        self._now = now

    def render(
        self,
        turns: Sequence[Turn],
        *,
        default_system: bool = True,
        check_wanted: Callable[[], None] = lambda: None,
    ) -> list[Part]:
        """Render a conversation up to where the assistant speaks; raise CommandError.

        `check_wanted` is called again and again, and may raise JobError.

        Without `default_system` nothing stands before the first turn that the template puts there
        by itself.

        Content is not rendered at all but put in afterwards, so that nothing in it can be taken
        for scaffold. A template that would change content (other than by trimming it) is refused
        for this conversation: what it does cannot be told from what the content wants it to do.
        """
        # Once: midnight must not come between two renderings.
        occasion = _Occasion(self._now(), check_wanted)
        parts = self._marked_parts(turns, occasion)
        plain = self._text([turn.content for turn in turns], turns, occasion)
        if "".join(part.text for part in parts) != plain:
            raise CommandError(
                ErrorCode.UNSUPPORTED,
                "the chat template of this model rewrites the content of a message; "
                "send the whole prompt yourself, with `raw`",
            )
        if default_system or turns[0].role == "system":
            return parts
        before = turns_before(turns)
        return without_default_system(
            parts,
            self._marked_parts((*before, *turns), occasion),
            self._marked_parts(before, occasion, asks=False),
            begin_text=self._tokens["bos_token"],
        )

    def _marked_parts(
        self, turns: Sequence[Turn], occasion: _Occasion, *, asks: bool = True
    ) -> list[Part]:
        marks = [f"\t\ue000{at}\ue001\t" for at in range(len(turns))]
        return list(_parts(self._text(marks, turns, occasion, asks=asks), turns))

    def _text(
        self,
        contents: Sequence[str],
        turns: Sequence[Turn],
        occasion: _Occasion,
        *,
        asks: bool = True,
    ) -> str:
        messages = [
            {"role": turn.role, "content": content}
            for turn, content in zip(turns, contents, strict=True)
        ]
        content_chars = sum(len(content) for content in contents)
        context = self._template.new_context(
            {
                "messages": messages,
                "add_generation_prompt": asks,
                "raise_exception": _refused_by_template,
                "strftime_now": _dated(occasion.now),
                BUDGET_KEY: RenderingBudget(content_chars, check_wanted=occasion.check_wanted),
                **self._tokens,
            }
        )
        try:
            return self._render(context, SCAFFOLD_CHARS_MAX + content_chars)
        except (CommandError, JobError):
            raise
        except TooMuch as error:
            raise _unusable(str(error)) from None
        except Exception as error:  # noqa: BLE001  # a template is a program: any may come
            raise _unusable(f"{type(error).__name__}: {error}") from None

    def _render(self, context: Context, chars_max: int) -> str:
        chunks, chars = [], 0
        for chunk in self._template.root_render_func(context):
            chars += len(chunk)
            if chars > chars_max:
                raise TooMuch(f"more than {chars_max} characters of output")
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


def _dated(now: datetime) -> Callable[[str], str]:
    def strftime_now(form: str) -> str:
        if _DATE_FORM.fullmatch(form) is None:
            raise TooMuch("strftime_now takes letters after `%`, no widths, and 64 characters")
        return now.strftime(form)

    return strftime_now


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
