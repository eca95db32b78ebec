"""YAML and JSON files whose faults are told with their line: spec files and settings."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from cuttlebone.errors import OperatorError
from cuttlebone.text import printable
from cuttlebone.text.documents import decoded
from cuttlebone.text.json_values import Json, MalformedDocument
from cuttlebone.text.suggestions import suggestion
from cuttlebone.text.yaml_core import value_of
from cuttlebone.text.yaml_nodes import Mapping, Node, Scalar, Sequence, compose
from cuttlebone_abi import json_path
from cuttlebone_abi.faults import requirement
from cuttlebone_abi.walking import Location


@dataclass(frozen=True, slots=True)
class LinedDocument:
    """A file that was read: its value, and the tree that knows where each part of it stands."""

    path: Path
    tree: Node
    value: Json

    def place(self, location: Location) -> str:
        """Give `file:line` of the deepest part of a location that the file has."""
        return f"{self.path}:{_line(self.tree, location)}"


def read_lined(path: Path, *, bytes_max: int, empty: bool = False) -> LinedDocument:
    """Read a file; raise OperatorError with the file and the line.

    With `empty` one that has only comments is null, else it is refused.
    """
    try:
        with path.open("rb") as file:
            text = decoded(file.read(bytes_max + 1), bytes_max=bytes_max)
        if empty and not any(_says_something(line) for line in text.splitlines()):
            return LinedDocument(path, Scalar("", plain=True, tag=None, line=1), None)
        tree = compose(text)
        return LinedDocument(path, tree, value_of(tree))
    except OSError as error:
        raise OperatorError(f"{path}: cannot be read: {error.strerror}") from None
    except MalformedDocument as error:
        raise OperatorError(f"{path}: {error}") from None


def explain(fault: ErrorDetails, model: type[BaseModel]) -> str:
    """Say what a model finds wrong with one place of a document, and what was probably meant."""
    location, subject = fault["loc"], ""
    if location[-1:] == ("[key]",):  # so pydantic says that the key itself is wrong
        location, subject = location[:-1], "the key: "
    name = printable(json_path(location).removeprefix("$."))
    match fault["type"]:
        case "extra_forbidden":
            return f"unknown key `{name}`{_suggestion(location, model)}"
        case "missing":
            return f"the key `{name}` {requirement(fault)}"
        case _:
            value = printable(repr(fault["input"]), chars_max=80)
            return f"`{name}`: {subject}{requirement(fault)}, but is {value}"


def _says_something(line: str) -> bool:
    return line.strip()[:1] not in {"", "#"}


def _line(node: Node, location: Location) -> int:
    line = 1
    for part in location:
        match node, part:
            case Mapping(), str() if part in node.entries:
                line, node = node.key_lines[part], node.entries[part]
            case Sequence(), int() if part < len(node.items):
                node = node.items[part]
                line = node.line
            case _:
                break
    return line


def _suggestion(location: Location, model: type[BaseModel]) -> str:
    for part in location[:-1]:
        inner = model.model_fields[str(part)].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return ""
        model = inner
    return suggestion(str(location[-1]), model.model_fields)
