"""What the loose words of a roster mean: server software, memory, latency.

White space is what Unicode calls so; letters are lowered in ASCII only. Both are narrower than
`str.strip` and `str.lower`, which take separators of data for space and make a k of U+212A.
"""

import math
import re
import string
from typing import Final

from cuttlebone.endpoints.config.spec.tokens import is_number
from cuttlebone.endpoints.config.spec.types import Flavour, LatencyClass

FIGURE_GB_MAX: Final = 4096
BYTES_A_GB: Final = 1_000_000_000

_WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_WORD: Final = re.compile(f"[^{_WHITE_SPACE}]+")
_LOWERED: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_BACKENDS: Final = {
    "mlx_lm": Flavour.MLX_LM,
    "mlx-lm": Flavour.MLX_LM,
    "llamacpp": Flavour.LLAMACPP,
    "llama.cpp": Flavour.LLAMACPP,
    "llama-server": Flavour.LLAMACPP,
    "ollama": Flavour.OLLAMA,
}
_INTERACTIVE_WORDS: Final = ("voice", "realtime")

BACKEND_WORDS: Final = tuple(_BACKENDS)


def flavour_of(backend: str) -> Flavour | None:
    """Give the software that the first word names; a text with alternatives takes the first."""
    word = _WORD.search(backend)
    return None if word is None else _BACKENDS.get(word[0].translate(_LOWERED))


def weights_bytes(ram_gb: object) -> int | None:
    """Give a memory figure in decimal gigabytes as bytes; None if it is none, or beyond 0 to 4096.

    A figure with a fraction is multiplied as the 64-bit float it is read as, then cut.
    """
    figure = _figure(ram_gb)
    # Whole numbers stay exact, and the comparison comes first: a float of any integer may overflow.
    if figure is None or not 0 <= figure <= FIGURE_GB_MAX:
        return None
    return int(figure * BYTES_A_GB)


def guessed_latency(id_: str, role: str) -> LatencyClass:
    """Guess from the words of an entry whether somebody waits for each token."""
    words = f"{id_} {role}".translate(_LOWERED)
    found = any(word in words for word in _INTERACTIVE_WORDS)
    return LatencyClass.INTERACTIVE if found else LatencyClass.BATCH


def _figure(ram_gb: object) -> int | float | None:
    match ram_gb:
        case bool():
            return None
        case int():
            return ram_gb
        case float():
            return None if math.isnan(ram_gb) else ram_gb
        case str():
            text = ram_gb.strip(_WHITE_SPACE).lstrip("~")
            return _figure(float(text)) if is_number(text) else None
        case _:
            return None
