"""A case of a block: an input, files and a scripted model, and the envelope that has to come of them."""

import base64
import binascii
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cuttlebone.authoring.folder import CASES_FOLDER
from cuttlebone.errors import OperatorError
from cuttlebone.files.paths import UnusablePath, check_text
from cuttlebone.files.temporary import is_temporary
from cuttlebone.job_options import Limits
from cuttlebone.text.documents import MalformedDocument, decoded, read_json
from cuttlebone.text.fault_lists import lines_of
from cuttlebone.text.shape_faults import reason_of
from cuttlebone_abi import U32, U64, Json, json_path

CASE_BYTES_MAX: Final = 16 << 20
CONTEXT_TOKENS: Final = 16_384
"""Context of the scripted model, for which every byte of a prompt is a token."""

_CLOSED: Final = ConfigDict(frozen=True, extra="forbid")


class Base64Content(BaseModel):
    """Bytes of a file that is no text."""

    model_config = _CLOSED

    base64: str

    @field_validator("base64")
    @classmethod
    def _decodable(cls, text: str) -> str:
        try:
            base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from None
        return text

    @property
    def content(self) -> bytes:
        """The bytes."""
        return base64.b64decode(self.base64)


class ScriptedAnswer(BaseModel):
    """What the model says to a prompt."""

    model_config = _CLOSED

    when: str
    """A part of the prompt; the first answer whose part is found is given. Empty fits every prompt."""
    say: str


class ExpectedError(BaseModel):
    """The error of a job that did not complete; what is not stated is not compared."""

    model_config = _CLOSED

    code: str | None = None
    message: str | None = None


class ExpectedUsage(BaseModel):
    """The usage; what is not stated is not compared."""

    model_config = _CLOSED

    tokens_in: U32 | None = None
    tokens_out: U32 | None = None
    duration_ms: U64 | None = None
    model: str | None = None


class Expectation(BaseModel):
    """The envelope that has to come, and the progress on the way; what is not stated is not compared."""

    model_config = _CLOSED

    status: Literal["completed", "failed", "cancelled"]
    result: Json = None
    error: ExpectedError | None = None
    usage: ExpectedUsage | None = None
    progress: tuple[Json, ...] | None = None
    """All that the block emitted, in order."""


class Case(BaseModel):
    """One case file."""

    model_config = _CLOSED

    about: Annotated[str, Field(min_length=1)]
    """What the case shows, in a sentence."""
    input: Json
    files: dict[str, str | Base64Content] = {}
    """Content of each file by its path, relative to the folder of the spec."""
    model: tuple[ScriptedAnswer, ...] = ()
    """What the model says; to a prompt that fits none of these it says `ok`."""
    context_tokens: Annotated[int, Field(strict=True, ge=1, le=1 << 20)] = CONTEXT_TOKENS
    limits: Limits | None = None
    """Narrower limits for this job."""
    expect: Expectation | None = None
    """None until it is recorded."""

    @field_validator("files")
    @classmethod
    def _inside(cls, files: dict[str, str | Base64Content]) -> dict[str, str | Base64Content]:
        for path in files:
            _check_path(path)
        return files

    def contents(self) -> dict[str, bytes]:
        """Bytes of each file by its path."""
        return {
            path: content.encode() if isinstance(content, str) else content.content
            for path, content in self.files.items()
        }


def case_files(folder: Path) -> Sequence[Path]:
    """List the case files of a block's folder, by name; raise OperatorError if there are none."""
    found = sorted((folder / CASES_FOLDER).glob("*.json"))
    files = [file for file in found if not is_temporary(file.name)]
    if not files:
        raise OperatorError(
            f"there is no {CASES_FOLDER}/*.json in {folder}; write one (docs/block-cases.md has the "
            "format), with `about` and `input`, and run `cuttlebone block test --update`"
        )
    return files


def read_case(path: Path) -> Case:
    """Read a case file; raise OperatorError with the file, and the JSON path of every fault."""
    try:
        return Case.model_validate(_read(path))
    except ValidationError as error:
        faults = [
            f"{path}: {json_path(fault['loc'])}: {_reason(fault['type'], reason_of(fault))}"
            for fault in error.errors(include_url=False)
        ]
        raise OperatorError(lines_of(faults)) from None


def record(path: Path, expect: Json) -> None:
    """Write what came as what is expected into a case file; the rest of it stays."""
    content = _read(path)
    if not isinstance(content, dict):
        raise OperatorError(f"{path}: a case is an object")
    content["expect"] = expect
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _read(path: Path) -> Json:
    try:
        with path.open("rb") as file:
            return read_json(decoded(file.read(CASE_BYTES_MAX + 1), bytes_max=CASE_BYTES_MAX))
    except OSError as error:
        raise OperatorError(f"{path}: cannot be read: {error.strerror}") from None
    except MalformedDocument as error:
        raise OperatorError(f"{path}: {error}") from None


def _reason(kind: str, reason: str) -> str:
    known = ", ".join(Case.model_fields)
    return f"there is no such key; a case has {known}" if kind == "extra_forbidden" else reason


def _check_path(path: str) -> None:
    try:
        check_text(path)
    except UnusablePath as fault:
        raise ValueError(f"{path!r} is no path of a file: {fault}") from None
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "" in parts or "." in parts:
        raise ValueError(f"{path!r} must be a path inside the folder of the spec, such as a/b.txt")
