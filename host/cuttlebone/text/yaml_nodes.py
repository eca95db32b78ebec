"""YAML 1.2 as a tree of scalars as they were written, lists and mappings.

ruamel.yaml reads the events, and this module builds the tree: its own loaders accept digit
separators and timestamps, which the core schema of YAML 1.2 does not know, recurse as deep as a
document asks for, and lose how a scalar was written, which a roster needs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from cuttlebone.text import printable
from cuttlebone.text.json_values import DEPTH_MAX, VALUES_MAX, MalformedDocument, is_text, shown


@dataclass(frozen=True, slots=True)
class Scalar:
    """One scalar as written. `plain`: without quotes or block style, so that it may be a number."""

    text: str
    plain: bool
    tag: str | None
    line: int
    values: int = 1


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list. `values` counts it and all that it holds, with repetition."""

    items: tuple["Node", ...]
    line: int
    values: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping from keys as written. Nobody changes `entries` after it was built."""

    entries: dict[str, "Node"]
    line: int
    values: int
    key_lines: dict[str, int] = field(default_factory=dict)
    """The line of each key, which a value below it does not tell."""


Node: TypeAlias = Scalar | Sequence | Mapping

TAG_PREFIX: Final = "tag:yaml.org,2002:"


def compose(text: str) -> Node:
    """Read the one document in `text`; raise MalformedDocument, with the line, if there is no such."""
    try:
        return _build(YAML(typ="safe", pure=True).parse(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        reason = error.problem or error.context or "not YAML"
        raise MalformedDocument(f"{at}{printable(reason)}") from None
    except (YAMLError, ValueError, OverflowError) as error:
        # The scanner asks chr() for the character of an escape, also of \U00110000 and \UFFFFFFFF.
        raise MalformedDocument(f"not YAML: {printable(str(error))}") from None


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet; owned by `_build`."""

    is_mapping: bool
    anchor: str | None
    line: int
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)
    key: str | None = None
    values: int = 1

    def add(self, node: Node, line: int) -> None:
        self.values += node.values
        if self.values > VALUES_MAX:
            raise _malformed(line, f"more than {VALUES_MAX} values")
        if not self.is_mapping:
            self.items.append(node)
        elif self.key is None:
            self.key = self._new_key(node, line)
        else:
            self.entries[self.key] = node
            self.key = None

    def _new_key(self, node: Node, line: int) -> str:
        if not isinstance(node, Scalar):
            raise _malformed(line, "a list or mapping as a key; keys are text")
        if node.text in self.entries:
            raise _malformed(line, f"the key {shown(node.text)} stands here for the second time")
        self.key_lines[node.text] = line
        return node.text

    def closed(self) -> Node:
        if self.is_mapping:
            return Mapping(self.entries, self.line, self.values, self.key_lines)
        return Sequence(tuple(self.items), self.line, self.values)


def _build(events: Iterable[Event]) -> Node:
    """Stack the events up to a tree; the stack is a list, so that depth costs no recursion."""
    opened: list[_Open] = []
    anchors: dict[str, Node] = {}
    root: Node | None = None
    for event in events:
        line = event.start_mark.line + 1
        match event:
            case DocumentStartEvent() if root is not None:
                raise _malformed(line, "a second document; one file holds one")
            case CollectionStartEvent():
                if len(opened) >= DEPTH_MAX:
                    raise _malformed(line, f"nests deeper than {DEPTH_MAX} levels")
                opened.append(_opened(event, line))
                continue
            case CollectionEndEvent():
                done = opened.pop()
                node, anchor = done.closed(), done.anchor
            case AliasEvent():
                node, anchor = _aliased(event, anchors, line), None
            case ScalarEvent():
                node, anchor = _scalar(event, line), event.anchor
            case _:
                continue
        if anchor is not None:
            anchors[anchor] = node
        if opened:
            opened[-1].add(node, line)
        else:
            root = node
    if root is None:
        raise MalformedDocument("no document in it: the text is empty or holds only comments")
    return root


def _opened(event: CollectionStartEvent, line: int) -> _Open:
    is_mapping = isinstance(event, MappingStartEvent)
    known = {None, "!", TAG_PREFIX + ("map" if is_mapping else "seq")}
    if event.tag not in known:
        raise _malformed(line, f"the tag {shown(event.tag)} has no meaning in a document")
    return _Open(is_mapping, event.anchor, line)


def _aliased(event: NodeEvent, anchors: dict[str, Node], line: int) -> Node:
    if event.anchor not in anchors:
        raise _malformed(line, f"the alias {shown(event.anchor)} has no anchor before it")
    return anchors[event.anchor]


def _scalar(event: ScalarEvent, line: int) -> Scalar:
    text: str = event.value
    if not is_text(text):
        # JSON writes characters beyond the basic plane as two escapes; YAML reads each alone.
        try:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise _malformed(line, "a lone surrogate, which is no Unicode text") from None
    return Scalar(text, plain=not event.style, tag=event.tag, line=line)


def _malformed(line: int, reason: str) -> MalformedDocument:
    return MalformedDocument(f"line {line}: {reason}")
