"""Schemas made by chance, among them such as cannot be kept, and texts that a matcher lets through."""

import random
from typing import Final

import llguidance
import numpy as np

from cuttlebone_abi import Json

WORDS: Final = (
    b'"\\u0061": ',
    b'"a": ',
    b'"a": ',
    b"1e400",
    b"-0",
    b"9007199254740993",
    b'"',
    b"}",
)
"""What texts are tried to go on with, wherever they may: spellings that are easily overlooked."""
KEYS: Final = ("a", "b", "é", 'q"')
BYTES: Final = 256
"""Of `LLTokenizer("byte")` the first tokens are a byte each; others end a text."""


def random_schema(chance: random.Random, depth: int = 3) -> Json:
    """A schema of the kind that people write, with oddities now and then."""
    if depth == 0 or chance.random() < 0.3:
        return _scalar(chance)
    return chance.choice([_object, _object, _array, _choice, _choice, _whole])(chance, depth)


def random_text(
    chance: random.Random, matcher: llguidance.LLMatcher, bytes_max: int = 400
) -> str | None:
    """A text that ends where the matcher lets it end; None if it has not ended by then."""
    said = bytearray()
    reader = matcher.deep_copy()
    while len(said) < bytes_max:
        allowed = _allowed(reader)
        spoken = [token for token in allowed if token < BYTES]
        if not spoken or (len(spoken) < len(allowed) and chance.random() < 0.3):
            break
        word = chance.choice(WORDS)
        if reader.validate_tokens(list(word)) < len(word):
            word = bytes([_preferred(chance, spoken)])
        assert reader.consume_tokens(list(word)), reader.get_error()
        said += word
    if not reader.is_accepting():
        return None
    try:
        return said.decode()
    except UnicodeDecodeError:
        return None


def _allowed(reader: llguidance.LLMatcher) -> list[int]:
    bits = np.unpackbits(np.frombuffer(reader.compute_bitmask(), np.uint8), bitorder="little")
    return [int(token) for token in np.flatnonzero(bits)]


def _preferred(chance: random.Random, allowed: list[int]) -> int:
    """What closes, escapes and repeats comes more often than by chance."""
    liked = [token for token in allowed if chr(token) in '"}],:\\u061-e0']
    return chance.choice(liked if liked and chance.random() < 0.8 else allowed)


def _scalar(chance: random.Random) -> Json:
    low, more = chance.choice([-(2**53) - 2, -5, 0, 0.5, 1]), chance.choice([0, 3, 2**53, 1e20])
    number: dict[str, Json] = {"type": chance.choice(["integer", "number"])}
    if chance.random() < 0.6:
        number[chance.choice(["minimum", "exclusiveMinimum"])] = low
    if chance.random() < 0.6:
        number[chance.choice(["maximum", "exclusiveMaximum"])] = low + more
    if chance.random() < 0.2:
        number["multipleOf"] = chance.choice([2, 0.1, 7])
    text: dict[str, Json] = {"type": "string", "maxLength": chance.randrange(1, 6)}
    text |= chance.choice([{}, {"minLength": 2}, {"pattern": "^[ab]*$"}, {"format": "date"}])
    listed: Json = {
        "enum": chance.choice([[1, "a", None], [0.1, -0.0], [2**60], ["\\u0061"], [[{}]]])
    }
    fixed: Json = {"const": chance.choice([1.0, "a\nb", {"a": 1, "b": [None]}, 10**25, 1e-7, True])}
    kinds: Json = {"type": chance.sample(["null", "boolean", "number", "integer", "string"], k=2)}
    return chance.choice([number, number, text, text, listed, fixed, kinds, {"type": "null"}])


def _object(chance: random.Random, depth: int) -> Json:
    names = chance.sample(KEYS, k=chance.randrange(3))
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: random_schema(chance, depth - 1) for name in names},
    }
    if chance.random() < 0.6:
        schema["required"] = chance.sample(KEYS, k=chance.randrange(3))
    if chance.random() < 0.6:
        schema["additionalProperties"] = chance.choice([False, False, True, {"type": "integer"}])
    if chance.random() < 0.15:
        schema["patternProperties"] = {"^[ab]": random_schema(chance, depth - 1)}
    if chance.random() < 0.2:
        schema[chance.choice(["minProperties", "maxProperties"])] = chance.randrange(4)
    return schema


def _array(chance: random.Random, depth: int) -> Json:
    schema: dict[str, Json] = {"type": "array", "items": random_schema(chance, depth - 1)}
    schema["maxItems"] = chance.randrange(4)
    if chance.random() < 0.3:
        schema["prefixItems"] = [random_schema(chance, depth - 1)]
    if chance.random() < 0.1:
        schema["uniqueItems"] = True
    return schema


def _choice(chance: random.Random, depth: int) -> Json:
    branches = [random_schema(chance, depth - 1) for _ in range(chance.randrange(1, 4))]
    return {chance.choice(["anyOf", "oneOf", "allOf"]): branches}


def _whole(chance: random.Random, depth: int) -> Json:
    inner = random_schema(chance, depth - 1)
    return chance.choice(
        [{"$ref": "#/$defs/x", "$defs": {"x": inner}}, {}, True, {"not": inner}, {"title": "a"}]
    )
