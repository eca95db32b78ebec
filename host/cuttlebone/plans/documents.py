"""The documents of execution planning: frozen, with every default, open to keys of newer senders.

A document ignores keys that it does not know and never takes null. Integers are exact in their
width, booleans are booleans. Nothing else is judged: names may be empty, digests and URLs are not
looked at, and counts are not compared.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from cuttlebone.plans.enums import (
    ArtifactCompleteness,
    ArtifactType,
    ExecutionMode,
    KVProfile,
)
from cuttlebone_abi import U32, U64

Text: TypeAlias = Annotated[str, Field(strict=True)]
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
I64: TypeAlias = Annotated[int, Field(strict=True, ge=-(1 << 63), lt=1 << 63)]


class Document(BaseModel):
    """What all documents here have in common: they do not change, and unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ExecutionSupport(Document):
    """The modes that a node can serve."""

    local_full: Flag = True
    remote_full: Flag = True
    local_streamed: Flag = False
    remote_streamed: Flag = False
    hybrid_moe_local: Flag = False
    hybrid_moe_regional: Flag = False


class ModelTopology(Document):
    """The size of a model's parts."""

    num_experts: U32 = 0
    active_experts: U32 = 0
    """Experts that work on one token."""
    num_layers: U32 = 0
    hidden_dim: U32 = 0
    attention_heads: U32 = 0


class PlacementConstraints(Document):
    """What a node must have, and where it should be."""

    min_vram_gb: U32 = 0
    min_ram_gb: U32 = 0
    requires_gpu: Flag = False
    requires_tee: Flag = False
    """A trusted execution environment."""
    preferred_regions: tuple[Text, ...] = ()


class RoutingPolicy(Document):
    """How far a request may travel."""

    prefer_local: Flag = True
    max_hops: U32 = 3
    require_attestation: Flag = False
    fallback_to_remote: Flag = True


class RequiredExecution(Document):
    """What the client asks for. A client that sent no such document is taken to have sent `{}`."""

    min_mode: ExecutionMode = ExecutionMode.LOCAL_FULL
    preferred_mode: ExecutionMode = ExecutionMode.LOCAL_FULL
    allow_fallback: Flag = True


class RuntimeSupport(Document):
    """What a provider declares of its runtime."""

    supported_modes: tuple[ExecutionMode, ...] = ()
    supported_backends: tuple[Text, ...] = ()
    """Identifiers such as `llama.cpp`."""
    max_context_len: U32 = 0
    """Tokens."""
    max_batch_size: U32 = 0
    tee_capable: Flag = False


class TrustProfile(Document):
    """What is known of a node's integrity."""

    tee_vendor: Text = ""
    attestation_level: Text = ""
    """Free text; `none`, `simulated` and `hardware` are usual."""
    verified: Flag = False


class NodeNetworkProfile(Document):
    """How a node is connected."""

    region: Text = ""
    bandwidth_mbps: U32 = 0
    """Upstream."""
    latency_ms_to_peers: U32 = 0
    """Median."""
    is_public: Flag = False


class ArtifactMetadata(Document):
    """One artifact that can be downloaded."""

    artifact_id: Text = ""
    artifact_type: ArtifactType = ArtifactType.FULL_WEIGHTS
    size_bytes: U64 = 0
    sha256: Text = ""
    """Hex digest of the file."""
    url: Text = ""
    completeness: ArtifactCompleteness = ArtifactCompleteness.FULL_ONLY
    """Of the whole set that the artifact belongs to."""


class ExecutionPlan(Document):
    """How one request is to be executed."""

    plan_id: Text
    model_id: Text
    provider_id: Text
    execution_mode: ExecutionMode
    estimated_latency_ms: U32 = 0
    """For the whole request."""
    kv_profile: KVProfile = KVProfile.RAW
    constraints: PlacementConstraints = PlacementConstraints()
    """Those that were applied."""
    trust_profile: TrustProfile = TrustProfile()


class ExecutionReceipt(Document):
    """What was done, written after a session."""

    receipt_id: Text
    session_id: Text
    """The session or request that it covers."""
    model_id: Text
    provider_id: Text
    """Who served it."""
    mode: ExecutionMode
    """The mode that was really used."""
    prompt_tokens: U32 = 0
    completion_tokens: U32 = 0
    expert_calls: U32 = 0
    """Activations of experts, for models that have any."""
    streamed_layer_loads: U32 = 0
    """Loads of layer shards, in streamed modes."""
    kv_profile_id: Text = ""
    kv_memory_ms: U64 = 0
    """How long KV memory was resident."""
    attested: Flag = False
    attestation_ref: Text = ""
    output_hash: Text = ""
    """SHA-256 of the raw output bytes, in hex."""
    created_unix_ms: I64


class CapabilityResolution(Document):
    """The answer of a resolver: a plan, and others in ascending order of estimated latency."""

    model_id: Text
    resolved_provider: Text
    execution_plan: ExecutionPlan
    alternatives: tuple[ExecutionPlan, ...] = ()


class ProviderAnnouncement(Document):
    """What a provider says of itself, as far as modes go; an older one says nothing of them."""

    artifact_completeness: ArtifactCompleteness = ArtifactCompleteness.FULL_ONLY
    execution_support: ExecutionSupport = ExecutionSupport()


DOCUMENTS: Final[Mapping[str, type[Document]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            ExecutionSupport,
            ModelTopology,
            PlacementConstraints,
            RoutingPolicy,
            RequiredExecution,
            RuntimeSupport,
            TrustProfile,
            NodeNetworkProfile,
            ArtifactMetadata,
            ExecutionPlan,
            ExecutionReceipt,
            CapabilityResolution,
            ProviderAnnouncement,
        )
    }
)
"""All documents by name."""
