"""What a spec sets for `infer`."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from cuttlebone.generation.sampling_bounds import SAMPLING_BOUNDS
from cuttlebone_abi import U32, Number


class InferDefaults(BaseModel):
    """Defaults and bounds that a spec sets for `infer`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: Number = 0.0
    top_p: Number | None = None
    top_k: Number | None = None
    min_p: Number | None = None
    repeat_penalty: Number | None = None
    seed: U32 | None = None
    max_tokens_max: Annotated[int, Field(strict=True, ge=1)] = 1024
    """The most that one `infer` may ask for."""

    @field_validator(*SAMPLING_BOUNDS)
    @classmethod
    def _in_range(cls, value: float | None, info: ValidationInfo) -> float | None:
        bound = SAMPLING_BOUNDS[info.field_name or ""]
        if value is not None and not bound.admits(value):
            raise ValueError(f"should be {bound.words}")
        return value
