"""What a spec sets for `infer`."""

from typing import Annotated, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from cuttlebone.generation.request import REPEAT_LAST_TOKENS
from cuttlebone.generation.sampling_bounds import SAMPLING_BOUNDS
from cuttlebone_abi import U32, Number

SYSTEM_CHARS_MAX: Final = 16_384


class SystemUse(BaseModel):
    """What stands before the first turn of a conversation whose block gives no system message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: Literal["template", "none", "text"] = "template"
    """What the template of the model puts there by itself, nothing, or `text`."""
    text: Annotated[str, Field(min_length=1, max_length=SYSTEM_CHARS_MAX)] | None = None

    @model_validator(mode="after")
    def _text_where_used(self) -> Self:
        if (self.text is not None) != (self.use == "text"):
            raise ValueError("give `text` with `use: text`, and with no other use")
        return self


class InferDefaults(BaseModel):
    """Defaults and bounds that a spec sets for `infer`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: Number = 0.0
    top_p: Number | None = None
    top_k: Number | None = None
    min_p: Number | None = None
    repeat_penalty: Number | None = None
    seed: U32 | None = None
    repeat_last: Annotated[int, Field(strict=True)] = REPEAT_LAST_TOKENS
    """How many tokens back `repeat_penalty` looks."""
    system: SystemUse = SystemUse()
    max_tokens_max: Annotated[int, Field(strict=True, ge=1)] = 1024
    """What a higher `max_tokens` of an `infer` is lowered to."""

    @field_validator(*SAMPLING_BOUNDS)
    @classmethod
    def _in_range(cls, value: float | None, info: ValidationInfo) -> float | None:
        bound = SAMPLING_BOUNDS[info.field_name or ""]
        if value is not None and not bound.admits(value):
            raise ValueError(f"should be {bound.words}")
        return value
