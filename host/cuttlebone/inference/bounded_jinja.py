"""Jinja's sandbox with what it lacks: whatever a template makes or does is paid for from a budget.

The compiled template asks for each step of a loop, for each piece of output and for each value
that an operator, a call or a filter makes. That binds where a watching thread or a trace cannot:
one line of a template may stay inside one operation of the interpreter for minutes.
"""

import json
from collections.abc import Callable, Mapping, Sized
from string import Formatter
from types import MappingProxyType
from typing import Any, Final

from jinja2 import nodes, pass_context
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cuttlebone.inference.rendering_budget import RenderingBudget, TooMuch
from cuttlebone.inference.template_prices import PRICES, Prices, budget_of, made, written

_CALL_UNITS: Final = 8
_NUMBER_MAX: Final = 1 << 32
_INDENT_MAX: Final = 16

# These pad, repeat or wrap: text of any length from a small number. `random` is nothing for prompts.
_FILTERS_REFUSED: Final = frozenset(
    {"batch", "center", "format", "pprint", "random", "slice", "urlize", "wordwrap", "xmlattr"}
)
_FILTERS_THAT_WRITE: Final = frozenset(
    {"e", "escape", "forceescape", "indent", "join", "replace", "string", "urlencode"}
)
_METHODS: Final = frozenset(
    {
        "capitalize",
        "casefold",
        "count",
        "endswith",
        "find",
        "format",
        "index",
        "isalnum",
        "isalpha",
        "isdecimal",
        "isdigit",
        "islower",
        "isnumeric",
        "isspace",
        "istitle",
        "isupper",
        "join",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rindex",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
    }
)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Compiles templates that pay as they go. A context needs a budget under `BUDGET_KEY`."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        # Without the optimiser, which would carry out constant expressions while compiling.
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[LoopControlExtension, _Generation],
            optimized=False,
        )
        plain = ImmutableSandboxedEnvironment()
        offered = plain.filters.keys() - _FILTERS_REFUSED
        self.filters = {name: _paid_filter(name, plain) for name in offered}
        self.filters |= {"tojson": _to_json, **PRICES}
        self.tests = {name: _paid_test(name, plain) for name in plain.tests}
        self.finalize = written
        del self.globals["lipsum"]

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        Prices().visit(source)
        return super()._generate(source, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Add what can be paid for; multiply only numbers, which cannot make much out of little."""
        budget = budget_of(context)
        if operator == "+":
            budget.write((left, right))
            return super().call_binop(context, operator, left, right)
        budget.spend(_CALL_UNITS)
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        small = numbers and abs(left) < _NUMBER_MAX and abs(right) < _NUMBER_MAX
        if operator == "**" or not small:
            raise TooMuch(f"the operator {operator} is limited to numbers below 2 to the 32nd")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template may call, for what it takes."""
        budget = budget_of(context)
        budget.spend(_CALL_UNITS)
        budget.read(*args, *kwargs.values())
        text = getattr(getattr(called, "__wrapped__", called), "__self__", None)
        if isinstance(text, str):
            args = _pay_for_method(budget, text, called.__name__, args, kwargs)
        elif isinstance(called, LoopContext) and args:
            args = (budget.counted(args[0]), *args[1:])
        return made(context, super().call(context, called, *args, **kwargs))


class _Generation(Extension):
    """The tag `generation`, by which training code finds what the model says; here it is nothing."""

    tags = {"generation"}  # noqa: RUF012  # as jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Keep what stands between the tags."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


@pass_context
def _to_json(
    context: Context,
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001  # templates give it by place or by name
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001
) -> str:
    """What `tojson` is in chat templates: JSON as it is, without the escapes of HTML."""
    if indent is not None and not 0 <= indent <= _INDENT_MAX:
        raise TooMuch(f"tojson with an indent of {indent}; at most {_INDENT_MAX} are made")
    budget = budget_of(context)
    budget.write(value)
    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    parts = []
    for part in encoder.iterencode(value):
        budget.write(part)
        parts.append(part)
    return "".join(parts)


def _paid_filter(name: str, plain: ImmutableSandboxedEnvironment) -> Callable[..., Any]:
    @pass_context
    def paid(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = budget_of(context)
        budget.spend(_CALL_UNITS)
        budget.read(value, *args, *kwargs.values())
        if name == "join" and not isinstance(value, Sized):
            value = list(budget.counted(value))
        if name in _FILTERS_THAT_WRITE:
            budget.write((value, args, kwargs))
        if name in _GROWTH:
            budget.spend(_GROWTH[name](value, *args, **kwargs))
        result = plain.call_filter(
            name, value, args, kwargs, context=context, eval_ctx=context.eval_ctx
        )
        return value if result is value else made(context, result)

    return paid


def _paid_test(name: str, plain: ImmutableSandboxedEnvironment) -> Callable[..., Any]:
    @pass_context
    def paid(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget_of(context).read(value, *args, *kwargs.values())
        return plain.call_test(
            name, value, args, kwargs, context=context, eval_ctx=context.eval_ctx
        )

    return paid


def _pay_for_method(
    budget: RenderingBudget, text: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Pay for a method of text before it is called; give the arguments to call it with."""
    budget.read(text)
    match name:
        case "replace":
            budget.spend(_replaced_chars(text, *args))
        case "join":
            items = list(budget.counted(args[0]))
            budget.write(items)
            budget.spend(len(items) * len(text))
            return (items,)
        case "format":
            for _, field, specification, conversion in Formatter().parse(text):
                if specification or conversion or not (field or "0").isalnum():
                    raise TooMuch("`format` fills in plain fields only: {} or {name}")
                budget.write((args, kwargs))
        case _ if name not in _METHODS:
            raise TooMuch(f"the method {name} of text is not offered")
        case _:
            pass
    return args


def _replaced_chars(text: object, old: object, new: object, _count: object = None) -> int:
    return str(text).count(str(old)) * len(str(new))


def _indented_chars(text: object, width: int | str = 4, *_: object, **__: object) -> int:
    lines = len(str(text).splitlines()) + 1
    return lines * (width if isinstance(width, int) else len(width))


def _separated_chars(values: Sized, separator: object = "", *_: object, **__: object) -> int:
    return len(values) * len(str(separator))


_GROWTH: Final[Mapping[str, Callable[..., int]]] = MappingProxyType(
    {"replace": _replaced_chars, "indent": _indented_chars, "join": _separated_chars}
)
"""Characters that a filter makes beyond those of its arguments."""
