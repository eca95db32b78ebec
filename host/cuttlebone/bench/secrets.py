"""Names that say that their value is a secret: of environment variables and of request fields."""

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ALWAYS: Final = (
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "credential",
    "credentials",
    "apikey",
    "authorization",
    "bearer",
)
_AT_THE_END: Final = frozenset({"key", "pwd", "pass", "auth", "cookie"})
_KEYS_OF_DATA: Final = frozenset({"cache", "sort", "primary", "foreign", "partition", "public"})
_BEFORE_KEY: Final = frozenset(
    {"api", "access", "private", "secret", "signing", "encryption", "auth"}
)
_COUNTED: Final = frozenset(
    {"id", "ids", "count", "counts", "limit", "length", "len", "max", "min", "type", "types"}
    | {"budget", "budgets", "size", "rate", "penalty", "per", "bias", "probs", "logprobs"}
)
"""What follows the word token where it means a piece of text."""


def looks_secret(name: str) -> bool:
    """Tell whether a name looks as if its value were a secret: `HF_TOKEN`, `apiKey`, `DB_PASSWORD`.

    `max_tokens`, `stop_token_ids` and `TOKENIZERS_PARALLELISM` do not.
    """
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    return any(_is_secret(words, at) for at in range(len(words)))


def _is_secret(words: list[str], at: int) -> bool:
    word, is_last = words[at], at == len(words) - 1
    if word.endswith(_ALWAYS):
        return True
    if is_last and word in _AT_THE_END:
        # PWD alone is the working folder; prompt_cache_key names an entry of a cache.
        return words != ["pwd"] and (at == 0 or words[at - 1] not in _KEYS_OF_DATA)
    if word.endswith("token"):
        return is_last or words[at + 1] not in _COUNTED
    return word == "key" and at > 0 and words[at - 1] in _BEFORE_KEY
