"""Spec files: what an operator lets a block do, read from YAML 1.2 or JSON with errors that name the line."""

import difflib
import io
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from cuttlebone.commands.scope import InferDefaults
from cuttlebone.errors import OperatorError
from cuttlebone.settings import Limits
from cuttlebone.text import printable
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
    """Path of the block, relative to the spec file."""
    model: Annotated[str, Field(min_length=1)] | None = None
    """Role of the model; without it the jobs may not infer."""
    capabilities: Capabilities = Capabilities()
    input: SchemaSource = True
    """What the input of a job must look like."""
    output: SchemaSource = True
    """What its result must look like."""
    infer: InferDefaults = InferDefaults()
    limits: Limits = Limits()
    data_policy: Literal["local_only", "any"] = "local_only"
    """Whether inference must stay on this machine."""


def read_spec(path: Path) -> Spec:
    """Read and check one spec file; raise OperatorError with `file:line` and what to do."""
    text = _read_text(path)
    try:
        yaml = YAML(typ="safe", pure=True)
        value = yaml.load(io.StringIO(text))
        tree = YAML(typ="safe", pure=True).compose(io.StringIO(text))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise OperatorError(
            f"{path}:{line}: not valid YAML: {_first_line(error.problem)}"
        ) from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise OperatorError(f"{path}: not valid YAML: {_first_line(str(error))}") from None
    if not isinstance(value, dict):
        raise OperatorError(f"{path}:1: a spec is a mapping with the keys {_keys(Spec)}")
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
    path = folder / schema
    try:
        return YAML(typ="safe", pure=True).load(_read_text(path))
    except YAMLError as error:
        raise OperatorError(f"{path}: not valid YAML or JSON: {_first_line(str(error))}") from None


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(SPEC_BYTES_MAX + 1)
    except OSError as error:
        raise OperatorError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > SPEC_BYTES_MAX:
        raise OperatorError(f"{path}: larger than {SPEC_BYTES_MAX} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise OperatorError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None


def _line(node: Node | None, location: tuple[int | str, ...]) -> int:
    """The line of the deepest part of `location` that the file has."""
    line = 1
    for part in location:
        found = _child(node, part)
        if found is None:
            break
        line, node = found
    return line


def _child(node: Node | None, part: int | str) -> tuple[int, Node] | None:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        item = node.value[part]
        return item.start_mark.line + 1, item
    return None


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
    near = difflib.get_close_matches(str(location[-1]), model.model_fields, n=1)
    return f"; did you mean `{near[0]}`?" if near else f"; known keys are {_keys(model)}"


def _keys(model: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name in model.model_fields)


def _first_line(text: str | None) -> str:
    return printable((text or "no reason given").strip().splitlines()[0])
