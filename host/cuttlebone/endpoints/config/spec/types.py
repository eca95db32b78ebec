"""The parts of an endpoint spec and their defaults; shape only, values are judged by the rules."""

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from cuttlebone_abi import U32, U64

Text: TypeAlias = Annotated[str, Field(strict=True)]
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
U16: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=1 << 16)]

API_OPENAI_V1: Final = "openai-v1"


class Flavour(StrEnum):
    """The server software that answers for a role. There is no default."""

    LLAMACPP = "infer.llamacpp"
    """llama.cpp's HTTP server, with GGUF weights."""
    MLX_LM = "infer.mlx-lm"
    """The language-model server of MLX, with MLX quantisation folders."""
    OLLAMA = "infer.ollama"
    """Ollama, whose process is never ours and which itself decides what is in memory."""

    @property
    def capability(self) -> str:
        """The capability that a node with this software advertises."""
        return f"runtime.{self}"

    @property
    def port(self) -> int:
        """The port it usually listens on, taken when a spec names none."""
        return _PORTS[self]

    @property
    def formats(self) -> tuple[str, ...]:
        """The weight formats it can load, the usual one first."""
        return _FORMATS[self]

    @property
    def format_capabilities(self) -> tuple[str, ...]:
        """The formats as they are advertised."""
        return tuple(f"format.{name}" for name in self.formats)


_PORTS: Final = {Flavour.LLAMACPP: 8090, Flavour.MLX_LM: 8081, Flavour.OLLAMA: 11434}
_FORMATS: Final = {
    Flavour.LLAMACPP: ("gguf",),
    Flavour.MLX_LM: ("mlx", "safetensors"),
    Flavour.OLLAMA: ("ollama", "gguf"),
}


class LatencyClass(StrEnum):
    """Whether somebody waits for each token, or only for the end."""

    BATCH = "batch"
    """Throughput work without a bound on latency."""
    INTERACTIVE = "interactive"
    """Voice and agent loops: a bound on latency applies."""


class MemoryBudget(BaseModel):
    """What an endpoint is expected to hold in memory while resident, in bytes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    weights_bytes: U64
    kv_budget_bytes: U64


class ServeArguments(BaseModel):
    """How the server is reached and started. None means that nothing was said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: Text | None = None
    """Loopback address; None means 127.0.0.1."""
    port: U16 | None = None
    """None means the usual port of the flavour."""
    ctx: U32 | None = None
    """Context length in tokens."""
    kv_quant: Text | None = None
    """Quantisation of the KV cache, such as `q8_0`."""
    draft_model: Text | None = None
    """Registry name of the draft model for speculative decoding."""
    extra_args: tuple[Text, ...] = ()
    """More entries of argv; no shell ever sees them."""


class InferenceSpec(BaseModel):
    """One endpoint: which model, served by what, where and at what cost in memory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Text
    """The stable name by which consumers ask for it."""
    model: Text | None = None
    """Registry name or package id; needed to start an instance, not to adopt a running one."""
    runtime: Flavour
    serve: ServeArguments = ServeArguments()
    memory: MemoryBudget = MemoryBudget(weights_bytes=0, kv_budget_bytes=0)
    """Expected memory, from which placement decides."""
    excludes: tuple[Text, ...] = ()
    """Roles it cannot be resident beside, as `role:NAME` or `NAME`."""
    latency_class: LatencyClass = LatencyClass.BATCH
    sticky: Flag = False
    """Not to be migrated on the host's own account, because its KV cache is warm."""
    api: Text = API_OPENAI_V1
    """The dialect it speaks."""
