"""Spec files: what an operator lets a block do, read from YAML 1.2 or JSON with errors that name the line."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from cuttlebone.errors import OperatorError
from cuttlebone.files.paths import names_folder
from cuttlebone.job_options import MODEL_TIME_MS, Limits, Recording
from cuttlebone.specs.infer_defaults import InferDefaults
from cuttlebone.text import printable
from cuttlebone.text.fault_lists import lines_of
from cuttlebone.text.lined_documents import explain, read_lined
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

    @property
    def job_limits(self) -> Limits:
        """The limits that it states, and the defaults of a job like its own for the others."""
        if self.model is None or "time_ms" in self.limits.model_fields_set:
            return self.limits
        return self.limits.model_copy(update={"time_ms": MODEL_TIME_MS})


def read_spec(path: Path) -> Spec:
    """Read and check one spec file; raise OperatorError with `file:line` and what to do."""
    document = read_lined(path, bytes_max=SPEC_BYTES_MAX)
    if not isinstance(document.value, dict):
        raise OperatorError(
            f"{path}:1: a spec is a mapping with the keys `{'`, `'.join(Spec.model_fields)}`"
        )
    try:
        return Spec.model_validate(document.value)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise OperatorError(
            lines_of(f"{document.place(fault['loc'])}: {_explain(fault)}" for fault in faults)
        ) from None


def read_schema(schema: SchemaSource, folder: Path) -> Json:
    """Return a JSON Schema given in place, or read the file that it names; raise OperatorError."""
    if not isinstance(schema, str):
        return schema
    return read_lined(file_named(schema, folder), bytes_max=SPEC_BYTES_MAX).value


def file_named(name: str, folder: Path) -> Path:
    """Where a file is that a spec in `folder` names; raise OperatorError for the name of a folder."""
    if names_folder(name):
        raise OperatorError(f"{printable(name)!r} names a folder, where a file is needed")
    return folder / name


def _explain(fault: ErrorDetails) -> str:
    if fault["type"] == "string_pattern_mismatch":
        name, stated = json_path(fault["loc"]).removeprefix("$."), printable(repr(fault["input"]))
        return (
            f"`{name}` is {stated}, but may have only lower-case letters, digits, `.`, `-` and `_`, "
            "at most 64"
        )
    return explain(fault, Spec)
