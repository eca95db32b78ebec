"""What a guest asks of its host: one pydantic model a command, tagged by `cmd`.

Unknown fields are ignored, so that a newer guest runs on an older host. The field names of
the six original commands (`infer`, `open`, `slice`, `emit`, `done`, `fail`) never change.
"""

from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from cuttlebone_abi.scalars import U32, U64, Json, Number, OptionalList

STOP_STRINGS_MAX = 16
STOP_STRING_BYTES_MAX = 256

_SOME: Final[Json] = {"type": "array", "minItems": 1}


class Message(BaseModel):
    """One turn of a conversation. Its content is tokenised as plain text and cannot forge a turn."""

    model_config = ConfigDict(frozen=True)

    role: Literal["system", "user", "assistant"]
    content: str


class _Command(BaseModel):
    """What all commands but `done` and `fail` share: the wish to be told of errors."""

    model_config = ConfigDict(frozen=True)

    on_error: Literal["event"] | None = None


class InferRequest(BaseModel):
    """What to generate: the body of an `infer`."""

    # What the validator below checks, for readers of the JSON Schema.
    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "oneOf": [
                {"required": ["prompt"], "properties": {"prompt": {"type": "string"}}},
                {"required": ["messages"], "properties": {"messages": _SOME}},
            ]
        },
    )

    prompt: str | None = None
    """One user turn, put through the chat template of the model, or sent as is with `raw`."""
    raw: StrictBool = False
    messages: OptionalList[Message] = None
    """A whole conversation, instead of `prompt`."""
    max_tokens: U32
    temperature: Annotated[Number, Field(ge=0)] | None = None
    top_p: Number | None = None
    top_k: Number | None = None
    min_p: Number | None = None
    repeat_penalty: Number | None = None
    seed: U32 | None = None
    stop: Annotated[tuple[str, ...], Field(max_length=STOP_STRINGS_MAX)] = ()
    json_schema: Json = None
    grammar: str | None = None
    images: OptionalList[U32] = None

    @model_validator(mode="after")
    def _one_source_of_text(self) -> Self:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either `prompt` or `messages`, and not both")
        if any(not 1 <= len(text.encode()) <= STOP_STRING_BYTES_MAX for text in self.stop):
            raise ValueError(f"each stop string must have 1 to {STOP_STRING_BYTES_MAX} bytes")
        return self


class Infer(_Command, InferRequest):
    """Generate text with the model of the spec; answered by `infer_done`."""

    cmd: Literal["infer"]


class InferMany(_Command):
    """Generate several texts side by side; answered by `infer_many_done`, in the same order."""

    cmd: Literal["infer_many"]
    requests: tuple[InferRequest, ...]


class CountTokens(_Command):
    """Count tokens as the model of the spec does; answered by `tokens_counted`."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["text"], "properties": {"text": {"type": "string"}}},
                {"required": ["messages"], "properties": {"messages": _SOME}},
            ]
        }
    )

    cmd: Literal["count_tokens"]
    text: str | None = None
    """Counted as plain text, without a template."""
    messages: OptionalList[Message] = None
    """Counted as the prompt that they would make."""

    @model_validator(mode="after")
    def _one_source_of_text(self) -> Self:
        if (self.text is None) == (self.messages is None):
            raise ValueError("give either `text` or `messages`, and not both")
        return self


class Open(_Command):
    """Open a granted file; answered by `opened`."""

    cmd: Literal["open"]
    path: str


class Slice(_Command):
    """Read a window of text; answered by `sliced`."""

    cmd: Literal["slice"]
    handle: U32
    offset: U64
    len: U64
    invalid: Literal["replace"] | None = None
    """With `replace` each maximal invalid part of the window becomes one U+FFFD."""


class SliceBytes(_Command):
    """Read a window of bytes; answered by `sliced_bytes`."""

    cmd: Literal["slice_bytes"]
    handle: U32
    offset: U64
    len: U64


class List(_Command):
    """Name what a granted folder holds; answered by `listed`."""

    cmd: Literal["list"]
    path: str
    after: str | None = None
    """Begin behind this name: the `after` of the last answer."""


class Close(_Command):
    """Give a handle back; answered by `closed`."""

    cmd: Literal["close"]
    handle: U32


class Emit(_Command):
    """Tell watchers how far the job is; answered by `emitted`."""

    cmd: Literal["emit"]
    progress: Json


class NotOffered(_Command):
    """A command of the contract that this host does not carry out yet; answered `unsupported`."""

    cmd: Literal[
        "document_text",
        "page_text",
        "page_text_opt",
        "page_image",
        "image_op",
        "embed",
        "fetch",
    ]


class Done(BaseModel):
    """End the job as completed."""

    model_config = ConfigDict(frozen=True)

    cmd: Literal["done"]
    result: Json


class Fail(BaseModel):
    """End the job as failed, with a code of the guest's own choosing."""

    model_config = ConfigDict(frozen=True)

    cmd: Literal["fail"]
    code: str
    message: str


Answered: TypeAlias = (
    Infer | Open | Slice | SliceBytes | List | Close | Emit | InferMany | CountTokens | NotOffered
)
"""The commands that are answered by an event."""

Command: TypeAlias = Annotated[Answered | Done | Fail, Field(discriminator="cmd")]
"""All commands."""
