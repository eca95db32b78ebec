"""The words of execution plans, spelt exactly as on the wire; the first of each is its default."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeVar


class ModelClass(StrEnum):
    """Architecture and scale of a model."""

    SMALL_DENSE = "SMALL_DENSE"
    MID_DENSE = "MID_DENSE"
    LARGE_DENSE = "LARGE_DENSE"
    SMALL_MOE = "SMALL_MOE"
    LARGE_MOE = "LARGE_MOE"
    FRONTIER_MOE = "FRONTIER_MOE"


class ExecutionMode(StrEnum):
    """Where the weights are and where inference happens."""

    LOCAL_FULL = "LOCAL_FULL"
    """All weights are here, and so is inference."""
    REMOTE_FULL = "REMOTE_FULL"
    """Another node has all weights; it gets the prompt and sends the answer."""
    LOCAL_STREAMED = "LOCAL_STREAMED"
    """Weights come into local memory layer by layer."""
    REMOTE_STREAMED = "REMOTE_STREAMED"
    """Another node streams the weights and sends back tokens."""
    HYBRID_MOE_LOCAL = "HYBRID_MOE_LOCAL"
    """The expert router is here, expert shards are spread over a local cluster."""
    HYBRID_MOE_REGIONAL = "HYBRID_MOE_REGIONAL"
    """The expert router is here, expert shards are spread over a regional mesh."""
    AUTO = "AUTO"
    """The runtime may choose: a request, never a description of what was done."""


class ArtifactCompleteness(StrEnum):
    """How much of a model a set of artifacts holds."""

    FULL_ONLY = "FULL_ONLY"
    """Full weights."""
    STREAMING_READY = "STREAMING_READY"
    """Full weights and streaming shards."""
    MOE_READY = "MOE_READY"
    """Full weights and expert shards."""
    FULLY_ADAPTIVE = "FULLY_ADAPTIVE"
    """Everything."""


class ArtifactType(StrEnum):
    """What one downloadable artifact is."""

    FULL_WEIGHTS = "full_weights"
    STREAMING_SHARD = "streaming_shard"
    EXPERT_SHARD = "expert_shard"
    KV_PROFILE = "kv_profile"
    TOKENIZER = "tokenizer"
    BACKEND_BUNDLE = "backend_bundle"
    QUANT_VARIANT = "quant_variant"


class KVProfile(StrEnum):
    """How the KV cache is kept."""

    RAW = "kv_raw"
    """16 bits a number."""
    INT8 = "kv_int8"
    """Quantised to 8 bits."""
    MIXED = "kv_mixed"
    """Precision that differs over attention heads."""
    PAGED = "kv_paged"
    """In pages, for sequences of varying length."""


class WorkerRole(StrEnum):
    """The part that a node plays in one inference."""

    FULL_WORKER = "FULL_WORKER"
    """The whole model on one node."""
    STREAMING_WORKER = "STREAMING_WORKER"
    """Streams shards of layers."""
    EXPERT_WORKER = "EXPERT_WORKER"
    """Holds shards of experts."""
    PREFILL_WORKER = "PREFILL_WORKER"
    """Evaluates prompts."""


E = TypeVar("E", bound=StrEnum)


def default_of(kind: type[E]) -> E:
    """Give the default of an enumeration: its first value."""
    return next(iter(kind))


_FULL: Final = frozenset({ExecutionMode.LOCAL_FULL, ExecutionMode.REMOTE_FULL})
_STREAMED: Final = frozenset({ExecutionMode.LOCAL_STREAMED, ExecutionMode.REMOTE_STREAMED})
_HYBRID: Final = frozenset({ExecutionMode.HYBRID_MOE_LOCAL, ExecutionMode.HYBRID_MOE_REGIONAL})

MODES: Final[Mapping[ArtifactCompleteness, frozenset[ExecutionMode]]] = MappingProxyType(
    {
        ArtifactCompleteness.FULL_ONLY: _FULL,
        ArtifactCompleteness.STREAMING_READY: _FULL | _STREAMED,
        ArtifactCompleteness.MOE_READY: _FULL | _HYBRID,
        ArtifactCompleteness.FULLY_ADAPTIVE: _FULL | _STREAMED | _HYBRID,
    }
)
"""The modes that a set of artifacts can serve. AUTO is none of them: it is only ever asked for."""


def supports(completeness: ArtifactCompleteness, mode: ExecutionMode) -> bool:
    """Tell whether a set of artifacts can serve a mode."""
    return mode in MODES[completeness]
