"""The small grammars of endpoint specs: plain tokens, numbers, values of flags.

All of them are told by bytes: letters and digits beyond ASCII are never among them, and a final
newline is a character like any other.
"""

import re
from typing import Final

FLAG_VALUE_BYTES_MAX: Final = 256

PLAIN_CHARACTERS: Final = "begin with a letter or digit and hold only A-Z a-z 0-9 . _ + : -"

_TOKEN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:-]*")
_FLAG_VALUE: Final = re.compile(r"[A-Za-z0-9._:+/-]+")
_NUMBER: Final = re.compile(
    r"[-+]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)",
    re.IGNORECASE | re.ASCII,
)


def is_plain_token(text: str, bytes_max: int) -> bool:
    """Tell whether `text` is a plain token of at most `bytes_max` bytes."""
    # All of its characters are ASCII if it matches, so characters are bytes.
    return len(text) <= bytes_max and _TOKEN.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Tell whether the whole of `text` is a floating-point number, in any case of letters.

    Not `float(text)`: that takes spaces around it, digit separators and digits of any script.
    """
    return _NUMBER.fullmatch(text) is not None


def is_flag_value(text: str) -> bool:
    """Tell whether `text` may follow a flag: harmless characters, no flag of its own."""
    if len(text) > FLAG_VALUE_BYTES_MAX or _FLAG_VALUE.fullmatch(text) is None:
        return False
    return not text.startswith("-") or is_number(text)
