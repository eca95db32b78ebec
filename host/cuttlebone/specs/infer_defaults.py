"""What a spec sets for `infer`."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from cuttlebone_abi import U32, Number


class InferDefaults(BaseModel):
    """Defaults and bounds that a spec sets for `infer`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: Annotated[Number, Field(ge=0)] = 0.0
    top_p: Number | None = None
    top_k: Annotated[int, Field(strict=True, ge=1)] | None = None
    min_p: Number | None = None
    repeat_penalty: Number | None = None
    seed: U32 | None = None
    max_tokens_max: Annotated[int, Field(strict=True, ge=1)] = 1024
    """The most that one `infer` may ask for."""
