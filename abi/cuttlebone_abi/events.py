"""What a host answers: exactly one event for each command, tagged by `event`.

Fields may be added at any time; a guest must ignore those that it does not know. The field
names of the four original events (`infer_done`, `opened`, `sliced`, `emitted`) never change.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from cuttlebone_abi.envelope import Failure
from cuttlebone_abi.scalars import U32, U64

# A host leaves no field out, so that its JSON Schema requires each of them.
_SENT: Final = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class Finish(StrEnum):
    """Why a generation ended."""

    EOS = "eos"
    """The model said that it had finished."""
    LENGTH = "length"
    """`max_tokens` were generated: the text is cut off."""
    STOP = "stop"
    """A stop string was reached."""
    GUEST = "guest"
    """`cf_on_token` said stop."""


class TextKind(BaseModel):
    """Empty, or UTF-8 as far as the first 4096 bytes tell."""

    model_config = _SENT

    kind: Literal["text"] = "text"


class ImageKind(BaseModel):
    """An image, told by its magic bytes."""

    model_config = _SENT

    kind: Literal["image"] = "image"
    format: Literal["png", "jpeg", "gif", "webp"]


class DocumentKind(BaseModel):
    """A PDF. A host that does not read PDFs reports 0 pages and no text layer."""

    model_config = _SENT

    kind: Literal["document"] = "document"
    pages: U32 = 0
    has_text_layer: StrictBool = False


class BinaryKind(BaseModel):
    """Anything else."""

    model_config = _SENT

    kind: Literal["binary"] = "binary"


FileKind: TypeAlias = Annotated[
    TextKind | ImageKind | DocumentKind | BinaryKind, Field(discriminator="kind")
]


class InferResult(BaseModel):
    """What a generation came to."""

    model_config = _SENT

    text: str
    tokens_out: U32
    finish: Finish
    tokens_in: U32
    tokens_cached: U32
    """How many of `tokens_in` were not evaluated again."""
    seed: U32
    """The seed that was used, whoever chose it."""


class InferDone(InferResult):
    """Answers `infer`."""

    event: Literal["infer_done"] = "infer_done"


class InferFault(BaseModel):
    """Stands in `infer_many_done` where a generation failed."""

    model_config = _SENT

    error: Failure


class InferManyDone(BaseModel):
    """Answers `infer_many`: what each of its generations came to, in the order of the requests."""

    model_config = _SENT

    event: Literal["infer_many_done"] = "infer_many_done"
    results: tuple[InferResult | InferFault, ...]


class TokensCounted(BaseModel):
    """Answers `count_tokens`."""

    model_config = _SENT

    event: Literal["tokens_counted"] = "tokens_counted"
    tokens: U32
    context: U32
    """Tokens that the prompt and the answer of one generation may have together."""


class Opened(BaseModel):
    """Answers `open`."""

    model_config = _SENT

    event: Literal["opened"] = "opened"
    handle: U32
    len: U64
    """Bytes in the file at the moment of opening; all slicing goes by it."""
    kind: FileKind


class Sliced(BaseModel):
    """Answers `slice`."""

    model_config = _SENT

    event: Literal["sliced"] = "sliced"
    text: str
    next_offset: U64


class SlicedBytes(BaseModel):
    """Answers `slice_bytes`."""

    model_config = _SENT

    event: Literal["sliced_bytes"] = "sliced_bytes"
    bytes_base64: str
    """The bytes in the standard alphabet, padded."""
    next_offset: U64


class Entry(BaseModel):
    """A file or folder in a folder."""

    model_config = _SENT

    name: str
    kind: Literal["file", "dir"]
    len: U64
    """Bytes in a file; 0 for a folder."""


class Listed(BaseModel):
    """Answers `list`."""

    model_config = _SENT

    event: Literal["listed"] = "listed"
    entries: tuple[Entry, ...]
    """Sorted by the bytes of their names."""
    after: str | None
    """The name to go on behind; null at the end."""


class Closed(BaseModel):
    """Answers `close`."""

    model_config = _SENT

    event: Literal["closed"] = "closed"


class Emitted(BaseModel):
    """Answers `emit`."""

    model_config = _SENT

    event: Literal["emitted"] = "emitted"


class ErrorEvent(BaseModel):
    """Answers a command with `on_error: event` that could not be carried out."""

    model_config = _SENT

    event: Literal["error"] = "error"
    code: str
    message: str


Event: TypeAlias = Annotated[
    InferDone
    | InferManyDone
    | TokensCounted
    | Opened
    | Sliced
    | SlicedBytes
    | Listed
    | Closed
    | Emitted
    | ErrorEvent,
    Field(discriminator="event"),
]
"""All events."""
