"""What a chat template puts before the first turn by itself, told from the header of that turn."""

from collections.abc import Sequence
from typing import Final

from cuttlebone.errors import CommandError
from cuttlebone.generation.request import Turn
from cuttlebone.inference.prompt_part import Part
from cuttlebone_abi import ErrorCode

_UNTELLABLE: Final = (
    "what the chat template of this model puts before the first turn cannot be told from the turn; "
    "give the spec another `infer.system.use`, or send the whole prompt yourself, with `raw`"
)


def turns_before(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """An exchange that may stand before `turns`: no template puts anything between two turns."""
    said = Turn("user", "-")
    return (said,) if turns[0].role == "assistant" else (said, Turn("assistant", "-"))


def without_default_system(
    parts: Sequence[Part], later: Sequence[Part], ended: Sequence[Part], *, begin_text: str
) -> list[Part]:
    """`parts` of a conversation with nothing before the first turn but the beginning of the text.

    `later` are those of the same conversation after another one, and `ended` are those of the other
    one alone, with nothing asked for. Raises CommandError where the header cannot be told.
    """
    count = _contents(ended)
    first, between, end = _before(parts, 0), _before(later, count), _before(ended, count)
    begin = begin_text if first.startswith(begin_text) else ""
    if between.endswith(first.removeprefix(begin)):
        return list(parts)  # all of it stands before later turns as well
    header = between.removeprefix(end)
    if not between.startswith(end) or not first.endswith(header):
        raise CommandError(ErrorCode.UNSUPPORTED, _UNTELLABLE)
    # Where turns begin with the very token that begins a text, it is there already.
    opening = header if header.startswith(begin) else begin + header
    return [*([Part(opening, scaffold=True)] if opening else []), *_from_first_content(parts)]


def _contents(parts: Sequence[Part]) -> int:
    return sum(not part.scaffold for part in parts)


def _before(parts: Sequence[Part], number: int) -> str:
    """The scaffold before content `number`, counted from 0; behind the last where there is no more."""
    seen, text = 0, ""
    for part in parts:
        if part.scaffold:
            text += part.text
        elif seen == number:
            return text
        else:
            seen, text = seen + 1, ""
    return text


def _from_first_content(parts: Sequence[Part]) -> Sequence[Part]:
    return parts[next((at for at, part in enumerate(parts) if not part.scaffold), len(parts)) :]
