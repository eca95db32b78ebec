"""Spec files: what an operator lets a block do, read from YAML 1.2 or JSON with errors that name the line."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from cuttlebone.errors import OperatorError
from cuttlebone.job_options import Limits, Recording
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.text import printable
from cuttlebone.text.documents import MalformedDocument, decoded
from cuttlebone.text.suggestions import suggestion
from cuttlebone.text.yaml_core import value_of
from cuttlebone.text.yaml_nodes import Mapping, Node, Sequence, compose
from cuttlebone_abi import Json, json_path

SPEC_BYTES_MAX: Final = 256 << 10
SPEC_SUFFIXES: Final = (".yaml", ".yml", ".json")

SchemaSource: TypeAlias = dict[str, Any] | bool | str
"""A JSON Schema in place, or the path of a file with one."""

_NAME: Final = r"^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$"


class Capabilities(BaseModel):
    """What the jobs of a spec may reach. Silence grants nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read: tuple[str, ...] = ()
    """Files and folders, relative to the spec file; globs with `*` and `**`."""
    follow_symlinks: bool = False
    """Follow symlinks that stay inside their root; otherwise they are refused."""


class Spec(BaseModel):
    """One spec file, as written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=_NAME)]
    """What submitters call it: lower-case letters, digits, dots, dashes, underscores."""
    description: Annotated[str, Field(min_length=1, max_length=2000)]
    """For the agent that chooses among specs: when to use this one."""
    block: Annotated[str, Field(min_length=1)]
    """Path of the block, relative to the spec file, or `sha256:<hex>` of an uploaded one."""
    model: Annotated[str, Field(min_length=1)] | None = None
    """Role of the model; without it the jobs may not infer."""
    capabilities: Capabilities = Capabilities()
    input: SchemaSource = True
    """What the input of a job must look like."""
    output: SchemaSource = True
    """What its result must look like."""
    infer: InferDefaults = InferDefaults()
    limits: Limits = Limits()
    record: Recording = Recording.DIGESTS
    """How much of a job's commands and events its journal keeps; `full` is for replays without files."""
    data_policy: Literal["local_only", "any"] = "local_only"
    """Whether inference must stay on this machine."""


def read_spec(path: Path) -> Spec:
    """Read and check one spec file; raise OperatorError with `file:line` and what to do."""
    tree, value = _read_document(path)
    if not isinstance(value, dict):
        raise OperatorError(
            f"{path}:1: a spec is a mapping with the keys `{'`, `'.join(Spec.model_fields)}`"
        )
    try:
        return Spec.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise OperatorError(
            "\n".join(f"{path}:{_line(tree, fault['loc'])}: {_explain(fault)}" for fault in faults)
        ) from None


def read_schema(schema: SchemaSource, folder: Path) -> Json:
    """Return a JSON Schema given in place, or read the file that it names; raise OperatorError."""
    if not isinstance(schema, str):
        return schema
    return _read_document(folder / schema)[1]


def _read_document(path: Path) -> tuple[Node, Json]:
    try:
        with path.open("rb") as file:
            data = file.read(SPEC_BYTES_MAX + 1)
        tree = compose(decoded(data, bytes_max=SPEC_BYTES_MAX))
        return tree, value_of(tree)
    except OSError as error:
        raise OperatorError(f"{path}: cannot be read: {error.strerror}") from None
    except MalformedDocument as error:
        raise OperatorError(f"{path}: {error}") from None


def _line(node: Node, location: tuple[int | str, ...]) -> int:
    """Find the line of the deepest part of `location` that the file has."""
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


def _explain(fault: ErrorDetails) -> str:
    location = fault["loc"]
    name = json_path(location).removeprefix("$.")
    match fault["type"]:
        case "extra_forbidden":
            return f"unknown key `{printable(name)}`{_suggestion(location)}"
        case "missing":
            return f"the key `{name}` is required and missing"
        case "string_pattern_mismatch":
            return (
                f"`{name}` is {printable(repr(fault['input']))}, but may have only lower-case "
                "letters, digits, `.`, `-` and `_`, at most 64"
            )
        case _:
            reason = fault["msg"].replace("Input should", "should")
            return f"`{printable(name)}`: {reason}, but is {printable(repr(fault['input']), chars_max=80)}"


def _suggestion(location: tuple[int | str, ...]) -> str:
    model: type[BaseModel] = Spec
    for part in location[:-1]:
        inner = model.model_fields[str(part)].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return ""
        model = inner
    return suggestion(str(location[-1]), model.model_fields)
