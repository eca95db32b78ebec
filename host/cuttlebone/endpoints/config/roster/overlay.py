"""The overlay: facts about the models of a roster that the roster has no place for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cuttlebone.endpoints.config.roster.refusals import RosterFault, RosterRefused
from cuttlebone.endpoints.config.roster.text import mapping_of, misshapen, text_of
from cuttlebone.endpoints.config.spec.types import LatencyClass
from cuttlebone.text.json_values import MalformedDocument, shown
from cuttlebone.text.yaml_core import scalar_value
from cuttlebone.text.yaml_nodes import Node, Scalar, Sequence, compose

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Overlay:
    """What the operator says of each role; a role that no roster has is no error."""

    excludes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    latency_class: Mapping[str, LatencyClass] = field(default_factory=dict)
    sticky: Mapping[str, bool] = field(default_factory=dict)


def read_overlay(given: str | bytes) -> Overlay:
    """Read an overlay, its text or the bytes of its file; raise RosterRefused.

    Role names are taken as written.
    """
    fault = RosterFault.OVERLAY
    text = text_of(given, "overlay", too_large=fault, unreadable=fault)
    try:
        top = mapping_of(compose(text), "an overlay").entries
        return Overlay(
            excludes=_by_role(top, "excludes", _role_names),
            latency_class=_by_role(top, "latency_class", _latency_class),
            sticky=_by_role(top, "sticky", _flag),
        )
    except MalformedDocument as error:
        raise RosterRefused(fault, f"the overlay cannot be read: {error}") from None


def _by_role(top: dict[str, Node], key: str, read: Callable[[Node], T]) -> dict[str, T]:
    known = tuple(Overlay.__dataclass_fields__)
    for name, node in top.items():
        if name not in known:
            raise misshapen(node, f"unknown key {shown(name)}; known are {', '.join(known)}")
    if key not in top:
        return {}
    return {role: read(node) for role, node in mapping_of(top[key], key).entries.items()}


def _role_names(node: Node) -> tuple[str, ...]:
    items = node.items if isinstance(node, Sequence) else ()
    names = tuple(item.text for item in items if isinstance(item, Scalar))
    if not isinstance(node, Sequence) or len(names) < len(items):
        raise misshapen(node, "excludes must give a list of role names for each role")
    return names


def _latency_class(node: Node) -> LatencyClass:
    for known in LatencyClass:
        if isinstance(node, Scalar) and node.text == known:
            return known
    wrong = shown(node.text) if isinstance(node, Scalar) else "a list or mapping"
    raise misshapen(node, f"the latency class is {wrong}; it must be interactive or batch")


def _flag(node: Node) -> bool:
    value = scalar_value(node) if isinstance(node, Scalar) else None
    if not isinstance(value, bool):
        wrong = shown(node.text) if isinstance(node, Scalar) else "a list or mapping"
        raise misshapen(node, f"sticky is {wrong}; it must be true or false, without quotes")
    return value
