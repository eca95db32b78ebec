"""What a reader is told of a key that is not known."""

import difflib
from collections.abc import Iterable


def suggestion(key: str, known: Iterable[str]) -> str:
    """Name the known key that was probably meant, or else all of them; to follow what is said of `key`."""
    keys = list(known)
    near = difflib.get_close_matches(key, keys, n=1)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; known keys are {', '.join(f'`{one}`' for one in keys)}"
