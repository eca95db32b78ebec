"""Planning documents beyond the vectors: exact types, defaults, unknown keys, both directions."""

import types
from enum import StrEnum
from typing import Any, get_args, get_origin

import annotated_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from cuttlebone.plans.types import (
    DOCUMENTS,
    MODES,
    ArtifactCompleteness,
    ArtifactType,
    CapabilityResolution,
    Document,
    ExecutionMode,
    ExecutionPlan,
    ExecutionReceipt,
    KVProfile,
    MalformedPlan,
    ModelClass,
    ProviderAnnouncement,
    RequiredExecution,
    RoutingPolicy,
    RuntimeSupport,
    WorkerRole,
    default_of,
    read,
    read_word,
    supports,
    write,
)
from json_strategies import json_values

PLAN = {"plan_id": "p", "model_id": "m", "provider_id": "h", "execution_mode": "LOCAL_FULL"}
RECEIPT = {
    "receipt_id": "r",
    "session_id": "s",
    "model_id": "m",
    "provider_id": "h",
    "mode": "AUTO",
    "created_unix_ms": 0,
}
KINDS = sorted(DOCUMENTS)
WORDS = [
    word for kind in (ExecutionMode, ArtifactType, KVProfile, ArtifactCompleteness) for word in kind
]
KEYS = sorted({name for kind in DOCUMENTS.values() for name in kind.model_fields})


def documents(kind: type[Document]) -> st.SearchStrategy[dict[str, Any]]:
    """Wire forms of a document, with any of its optional fields left out."""
    required = {n: _values(f) for n, f in kind.model_fields.items() if f.is_required()}
    optional = {n: _values(f) for n, f in kind.model_fields.items() if not f.is_required()}
    return st.fixed_dictionaries(required, optional=optional)


def _values(field: FieldInfo) -> st.SearchStrategy[Any]:
    annotation = field.annotation
    if isinstance(annotation, type) and issubclass(annotation, Document):
        return documents(annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return st.sampled_from([str(word) for word in annotation])
    if get_origin(annotation) is tuple:
        return st.lists(_items(get_args(annotation)[0]), max_size=3)
    if annotation is bool:
        return st.booleans()
    low = next((m.ge for m in field.metadata if isinstance(m, annotated_types.Ge)), None)
    high = next((m.lt for m in field.metadata if isinstance(m, annotated_types.Lt)), None)
    if isinstance(low, int) and isinstance(high, int):
        return st.integers(low, high - 1)
    return st.text()


def _items(kind: Any) -> st.SearchStrategy[Any]:
    if isinstance(kind, type) and issubclass(kind, Document):
        return documents(kind)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return st.sampled_from([str(word) for word in kind])
    return st.text()


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=20)  # for each of the kinds
@given(data=st.data())
def test_reading_and_writing_are_inverse(name: str, data: st.DataObject) -> None:
    kind = DOCUMENTS[name]
    wire = data.draw(documents(kind))
    document = read(kind, wire)
    written = write(document)
    assert list(written) == list(kind.model_fields)
    assert read(kind, written) == document
    assert {key: written[key] for key in wire} == {
        key: _whole(written[key], wire[key]) for key in wire
    }


def _whole(written: Any, wire: Any) -> Any:
    """Give what was on the wire, with the defaults that writing added."""
    if isinstance(wire, dict):
        return {**written, **{key: _whole(written[key], value) for key, value in wire.items()}}
    if isinstance(wire, list):
        return [_whole(one, other) for one, other in zip(written, wire, strict=True)]
    return wire


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=20)  # for each of the kinds
@given(value=json_values(words=WORDS, keys=KEYS))
def test_no_value_raises_anything_but_a_refusal(name: str, value: Any) -> None:
    kind = DOCUMENTS[name]
    try:
        document = read(kind, value)
    except MalformedPlan:
        return
    assert read(kind, write(document)) == document


@pytest.mark.parametrize("name", KINDS)
def test_only_plans_receipts_and_resolutions_need_keys(name: str) -> None:
    kind = DOCUMENTS[name]
    if kind in {ExecutionPlan, ExecutionReceipt, CapabilityResolution}:
        with pytest.raises(MalformedPlan, match="missing; this field is required"):
            read(kind, {})
    else:
        assert read(kind, {}) == kind()


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=20)  # for each of the kinds
@given(data=st.data())
def test_null_is_taken_for_no_field(name: str, data: st.DataObject) -> None:
    kind = DOCUMENTS[name]
    wire = data.draw(documents(kind))
    key = data.draw(st.sampled_from(sorted(kind.model_fields)))
    with pytest.raises(MalformedPlan) as refused:
        read(kind, {**wire, key: None})
    assert refused.value.pointer == f"/{key}"


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=20)  # for each of the kinds
@given(data=st.data())
def test_keys_of_newer_senders_are_ignored(name: str, data: st.DataObject) -> None:
    kind = DOCUMENTS[name]
    wire = data.draw(documents(kind))
    assert read(kind, {**wire, "from_the_future": {"x": None}}) == read(kind, wire)


@pytest.mark.parametrize("value", [True, 1.0, "1", -1, 2**32, 1e300, [], 10**400])
def test_a_count_is_an_exact_integer_of_32_bits(value: object) -> None:
    with pytest.raises(MalformedPlan, match="at /max_hops"):
        read(RoutingPolicy, {"max_hops": value})


@pytest.mark.parametrize("value", [1, 0, 1.0, "true", "yes", []])
def test_a_boolean_is_no_number_and_no_text(value: object) -> None:
    with pytest.raises(MalformedPlan, match="at /prefer_local"):
        read(RoutingPolicy, {"prefer_local": value})


@pytest.mark.parametrize("value", [2**64, -1, 1.0, True])
def test_kv_memory_is_an_exact_integer_of_64_bits(value: object) -> None:
    assert read(ExecutionReceipt, {**RECEIPT, "kv_memory_ms": 2**64 - 1}).kv_memory_ms == 2**64 - 1
    with pytest.raises(MalformedPlan, match="at /kv_memory_ms"):
        read(ExecutionReceipt, {**RECEIPT, "kv_memory_ms": value})


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 1.5, "0", False])
def test_a_time_is_an_exact_signed_integer_of_64_bits(value: object) -> None:
    for bound in (2**63 - 1, -(2**63)):
        assert (
            read(ExecutionReceipt, {**RECEIPT, "created_unix_ms": bound}).created_unix_ms == bound
        )
    with pytest.raises(MalformedPlan, match="at /created_unix_ms"):
        read(ExecutionReceipt, {**RECEIPT, "created_unix_ms": value})


@pytest.mark.parametrize("value", ["LOCAL_FULL", {"a": 1}, ["FAST"], [None], [0], ("LOCAL_FULL",)])
def test_a_list_of_modes_is_a_list_of_modes(value: object) -> None:
    with pytest.raises(MalformedPlan):
        read(RuntimeSupport, {"supported_modes": value})


@pytest.mark.parametrize("value", [None, [], "x", 1, True, ExecutionPlan(**PLAN)])
def test_a_document_is_an_object(value: object) -> None:
    with pytest.raises(MalformedPlan):
        read(RoutingPolicy, value)


def test_text_is_unicode_text() -> None:
    with pytest.raises(MalformedPlan, match="lone surrogate"):
        read(ExecutionPlan, {**PLAN, "plan_id": "\ud800"})


def test_a_fault_inside_a_document_has_its_pointer_and_says_what_is_accepted() -> None:
    with pytest.raises(MalformedPlan) as refused:
        read(
            CapabilityResolution, {"model_id": "m", "resolved_provider": "h", "execution_plan": {}}
        )
    assert refused.value.pointer == "/execution_plan/plan_id"
    with pytest.raises(MalformedPlan, match=r"at /execution_mode: .AUTOMATIC.*'LOCAL_FULL'"):
        read(ExecutionPlan, {**PLAN, "execution_mode": "AUTOMATIC"})


def test_a_client_that_sent_no_requirement_allows_fallback() -> None:
    assert RequiredExecution().allow_fallback is True


def test_nothing_else_is_judged() -> None:
    receipt = read(ExecutionReceipt, {**RECEIPT, "output_hash": "no digest", "session_id": ""})
    assert receipt.mode is ExecutionMode.AUTO


def test_an_older_announcement_means_full_weights_here_and_elsewhere() -> None:
    announced = read(ProviderAnnouncement, {"provider": "x"})
    assert announced.artifact_completeness is ArtifactCompleteness.FULL_ONLY
    assert announced == read(ProviderAnnouncement, {"execution_support": {}})
    with pytest.raises(MalformedPlan, match="at /execution_support"):
        read(ProviderAnnouncement, {"execution_support": None})


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (ModelClass, "SMALL_DENSE"),
        (ExecutionMode, "LOCAL_FULL"),
        (ArtifactCompleteness, "FULL_ONLY"),
        (ArtifactType, "full_weights"),
        (KVProfile, "kv_raw"),
        (WorkerRole, "FULL_WORKER"),
    ],
)
def test_the_first_word_is_the_default(kind: type[StrEnum], default: str) -> None:
    assert default_of(kind) == default


@pytest.mark.parametrize(
    "value", ["local_full", "LOCAL_FULL\n", " LOCAL_FULL", "", 0, None, True, [], {}]
)
def test_a_word_in_another_spelling_is_refused_with_the_known_ones(value: object) -> None:
    with pytest.raises(MalformedPlan, match=r"none of LOCAL_FULL, REMOTE_FULL, .*AUTO"):
        read_word(ExecutionMode, value)


@pytest.mark.parametrize("completeness", ArtifactCompleteness)
def test_auto_is_asked_for_and_never_served(completeness: ArtifactCompleteness) -> None:
    assert not supports(completeness, ExecutionMode.AUTO)
    assert supports(completeness, ExecutionMode.LOCAL_FULL)


def test_fully_adaptive_artifacts_serve_all_six_modes() -> None:
    assert len(MODES[ArtifactCompleteness.FULLY_ADAPTIVE]) == 6
    assert isinstance(MODES, types.MappingProxyType)
