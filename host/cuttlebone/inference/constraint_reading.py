"""Schemas and grammars read by the libraries that keep to them, in whichever process it is called."""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

import llguidance
from llguidance.gbnf_to_lark import GbnfToLarkError, gbnf_to_lark

from cuttlebone.errors import CommandError
from cuttlebone.inference.constraints import invalid_grammar
from cuttlebone.inference.schema_keeping import schemas_in, unkept
from cuttlebone.text import printable
from cuttlebone_abi import Json, dump_json
from cuttlebone_abi.walking import Location

REASON_CHARS_MAX: Final = 200

_UNKNOWN: Final = re.compile(r'Unimplemented keys: \["([^"]*)"')
_LARK_LINE: Final = re.compile(r"(?:at )?([0-9]+)\([0-9]+\): ")
_GBNF_PLACE: Final = re.compile(r" at line ([0-9]+), .*\Z", re.DOTALL)
_MISSING_RULE: Final = re.compile(r"Rule '([^']*)' not found")
_BLANK: Final = " \t\r"


def schema_grammar(schema: Json) -> str:
    """A schema, as the matcher takes it."""
    return llguidance.LLMatcher.grammar_from_json_schema(
        dump_json(schema).decode(),
        # One way to write each value: free whitespace is where small models get lost. Nor may a schema
        # (`x-guidance`) have keywords ignored that cannot be kept, or take one of several for any.
        overrides={
            "whitespace_flexible": False,
            "item_separator": ", ",
            "key_separator": ": ",
            "lenient": False,
            "coerce_one_of": False,
        },
    )


def lark_grammar(lark: str) -> str:
    """A grammar in Lark, as the matcher takes it."""
    return llguidance.LLMatcher.grammar_from_lark(lark)


def try_schema(tokenizer: llguidance.LLTokenizer, schema: Json) -> None:
    """Compile a schema; raise CommandError with the reason and the innermost place that has it."""
    reason = _fault(tokenizer, schema_grammar(schema))
    if reason is None:
        return
    raise unkept(_faulty_place(tokenizer, schema), _in_words_of_schemas(reason))


def try_grammar(tokenizer: llguidance.LLTokenizer, text: str) -> str:
    """Compile a grammar, Lark-style or GBNF; give it in Lark, or raise CommandError with the line."""
    if is_lark(text):
        _demand(_fault(tokenizer, lark_grammar(text)), text, lambda line: line)
        return text
    lark = _converted(text)
    _demand(_fault(tokenizer, lark_grammar(lark)), text, _line_of_gbnf(text, lark))
    return lark


def matcher_of(tokenizer: llguidance.LLTokenizer, grammar: str) -> llguidance.LLMatcher:
    """What keeps to a grammar, at its beginning; raise CommandError."""
    matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
    if not matcher.is_error():
        probe = matcher.deep_copy()
        probe.compute_bitmask()  # some grammars fail only at their first token
        if not probe.is_error():
            return matcher
        matcher = probe
    raise invalid_grammar(reason_of(matcher))


def reason_of(matcher: llguidance.LLMatcher) -> str:
    """The first line of what a matcher says; the rest shows its input, and dumps its state."""
    told = (matcher.get_error().split("<state>")[0].strip().splitlines() or [""])[0]
    if told == "NoExtensionBias":
        return "no text fits it"
    return printable(told.replace("json-schema:///", ""), chars_max=REASON_CHARS_MAX)


def is_lark(text: str) -> bool:
    """Whether a grammar is Lark-style: a line begins with `start:` or `%llguidance`."""
    for line in text.split("\n"):
        begin = line.lstrip()
        if begin.startswith("%llguidance"):
            return True
        if begin.startswith("start") and begin[len("start") :].lstrip(_BLANK).startswith(":"):
            return not begin[len("start") :].lstrip(_BLANK).startswith("::=")
    return False


def _fault(tokenizer: llguidance.LLTokenizer, grammar: str) -> str | None:
    try:
        matcher_of(tokenizer, grammar)
    except CommandError as error:
        return error.message
    return None


def _faulty_place(tokenizer: llguidance.LLTokenizer, schema: Json) -> Location:
    """The innermost schema that cannot be kept by itself."""
    shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    for node, location in reversed(list(schemas_in(schema))):
        if _fault(tokenizer, schema_grammar({**shared, **node})) is not None:
            return location
    return ()


def _in_words_of_schemas(reason: str) -> str:
    if unknown := _UNKNOWN.search(reason):
        return f"the keyword `{unknown[1]}` cannot be kept"
    if reason.startswith("oneOf"):
        return (
            "`oneOf` can be kept only where its branches are seen to exclude each other, by their types or "
            "by a required property of different `const`; use `anyOf` if more than one may fit"
        )
    return reason


def _demand(reason: str | None, text: str, line_of: Callable[[int], int]) -> None:
    if reason is None:
        return
    if place := _LARK_LINE.match(reason):
        raise _at_line(text, line_of(int(place[1])), reason[place.end() :])
    raise invalid_grammar(f"`grammar`: {reason}")


def _at_line(text: str, line: int, reason: str) -> CommandError:
    lines = text.split("\n")
    shown = printable(lines[min(line, len(lines)) - 1].strip(), chars_max=REASON_CHARS_MAX)
    return invalid_grammar(f"`grammar`, line {line}, `{shown}`: {reason}")


def _converted(text: str) -> str:
    try:
        return gbnf_to_lark(text)
    except GbnfToLarkError as error:
        place = _GBNF_PLACE.search(str(error))
        line = int(place[1]) if place else 1
        raise _at_line(text, line, printable(_GBNF_PLACE.sub("", str(error)))) from None
    except Exception as error:  # noqa: BLE001  # the converter raises bare ones, and RecursionError
        raise _gbnf_fault(text, str(error)) from None


def _gbnf_fault(text: str, reason: str) -> CommandError:
    if missing := _MISSING_RULE.search(reason):
        name = missing[1]
        lines = text.split("\n")
        used = next((at for at, line in enumerate(lines, start=1) if name in line), 1)
        return _at_line(text, used, f"there is no rule `{printable(name)}`")
    if "'root'" in reason:
        return invalid_grammar(
            "`grammar`: in GBNF a text is what the rule `root` says, and there is none; Lark has `start:`"
        )
    shown = printable(reason, chars_max=REASON_CHARS_MAX)
    return invalid_grammar(f"`grammar` is neither Lark nor GBNF: {shown}")


def _line_of_gbnf(text: str, lark: str) -> Callable[[int], int]:
    """From a line of the converted grammar to the line of the author: rules keep their order."""
    written = [at for at, line in enumerate(text.split("\n"), start=1) if "::=" in line]
    made = [
        at
        for at, line in enumerate(lark.split("\n"), start=1)
        if line[:1].isalnum() or line[:1] == "_"
    ]

    def line_of(line: int) -> int:
        rule = bisect_right(made, line) - 1
        return written[min(max(rule, 0), len(written) - 1)] if written else 1

    return line_of
