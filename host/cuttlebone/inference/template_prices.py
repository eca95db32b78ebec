"""Where a template pays: filters around whatever makes a value or repeats a step."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from jinja2 import nodes, pass_context
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer

from cuttlebone.inference.rendering_budget import RenderingBudget

BUDGET_KEY: Final = "the budget"
"""Where a context holds its budget: no name that a template could say."""

_COUNTED: Final = "_counted"
_MADE: Final = "_made"
_READ: Final = "_read"
_CONCATENATED: Final = "_concatenated"


class Prices(NodeTransformer):
    """Puts those filters into the tree of a template."""

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        """Change a node after those in it, so that what a price is put around is already priced."""
        self.generic_visit(node, *args, **kwargs)
        match node:
            case nodes.For():
                node.iter = _filtered(node.iter, _COUNTED)
            case nodes.Compare():
                node.expr = _filtered(node.expr, _READ)
                for operand in node.ops:
                    operand.expr = _filtered(operand.expr, _READ)
            case nodes.Concat():
                return _filtered(nodes.List(node.nodes, lineno=node.lineno), _CONCATENATED)
            case nodes.TemplateData():
                # Text between tags is put out as it is; a constant goes the way of all values.
                constant = nodes.Const(node.data, lineno=node.lineno)
                return nodes.MarkSafeIfAutoescape(constant, lineno=node.lineno)
            case nodes.Getitem(arg=nodes.Slice()) | nodes.List() | nodes.Dict():
                return _filtered(node, _MADE)
            case nodes.Tuple(ctx="load"):
                return _filtered(node, _MADE)
            case _:
                pass
        return node


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def budget_of(context: Context) -> RenderingBudget:
    """The budget of a rendering; macros and blocks have that of what they are in."""
    budget: RenderingBudget = context.parent[BUDGET_KEY]
    return budget


@pass_context
def _counted(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    return budget_of(context).counted(items)


@pass_context
def made(context: Context, value: Any) -> Any:  # whatever a template makes
    """Pay for a value that was made; what is made lazily pays when it is taken."""
    match value:
        case str():
            budget_of(context).write(value)
        case list() | tuple() | dict() | set():
            budget_of(context).keep(value)
        case Iterator():
            return budget_of(context).counted(value)
        case _:
            budget_of(context).spend(1)
    return value


@pass_context
def _read(context: Context, value: Any) -> Any:
    budget_of(context).read(value)
    return value


@pass_context
def written(context: Context, value: Any) -> Any:
    """Pay for a value that is put out."""
    budget_of(context).write(value)
    return value


@pass_context
def _concatenated(context: Context, values: list[Any]) -> str:
    budget_of(context).write(values)
    return "".join(map(str, values))


PRICES: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {_COUNTED: _counted, _MADE: made, _READ: _read, _CONCATENATED: _concatenated}
)
"""What an environment has to know as filters for such trees."""
