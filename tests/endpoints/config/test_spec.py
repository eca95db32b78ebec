"""Endpoint specs beyond the vectors: types, defaults, both directions, identity."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.endpoints.config.spec import (
    AdmissionRefused,
    Flavour,
    InferenceSpec,
    InvalidConfig,
    LatencyClass,
    MalformedSpec,
    MemoryBudget,
    ServeArguments,
    Workload,
    WorkloadKind,
    base_url,
    inference_spec_of,
    read_spec,
    validate,
    workload,
    write_spec,
)
from cuttlebone.endpoints.config.spec.reading import field_pointer
from endpoints.config.specs import SMALLEST, malformed
from json_strategies import json_values

TOKENS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+:-]{0,15}", fullmatch=True)
VALID_SPECS = st.builds(
    InferenceSpec,
    role=TOKENS,
    model=st.none() | TOKENS,
    runtime=st.just(Flavour.LLAMACPP),
    serve=st.builds(
        ServeArguments,
        host=st.sampled_from([None, "localhost", "127.9.9.9", "::1"]),
        port=st.none() | st.integers(1, 65535),
        ctx=st.none() | st.integers(1, 2**32 - 1),
        kv_quant=st.sampled_from([None, "q8_0", "f16"]),
        draft_model=st.none() | TOKENS,
        extra_args=st.sampled_from([(), ("--jinja",), ("-t", "4", "--seed", "-1")]),
    ),
    memory=st.builds(
        MemoryBudget, weights_bytes=st.integers(0, 2**42), kv_budget_bytes=st.integers(0, 2**42)
    ),
    excludes=st.lists(TOKENS, max_size=3).map(tuple),
    latency_class=st.sampled_from(LatencyClass),
    sticky=st.booleans(),
)
NEAR_SPECS = json_values(
    words=[
        "infer.llamacpp",
        "infer.ollama",
        "interactive",
        "role:a",
        "--threads",
        "::1",
        "openai-v1",
    ],
    keys=[*InferenceSpec.model_fields, *ServeArguments.model_fields, *MemoryBudget.model_fields],
)


@pytest.mark.parametrize(
    ("flavour", "capability", "port", "formats"),
    [
        ("infer.llamacpp", "runtime.infer.llamacpp", 8090, ("format.gguf",)),
        ("infer.mlx-lm", "runtime.infer.mlx-lm", 8081, ("format.mlx", "format.safetensors")),
        ("infer.ollama", "runtime.infer.ollama", 11434, ("format.ollama", "format.gguf")),
    ],
)
def test_a_flavour_knows_its_capability_port_and_formats(
    flavour: str, capability: str, port: int, formats: tuple[str, ...]
) -> None:
    known = Flavour(flavour)
    assert (known.capability, known.port, known.format_capabilities) == (capability, port, formats)


def test_a_spec_made_in_code_has_the_defaults_of_a_document() -> None:
    assert InferenceSpec(role="r", runtime=Flavour.LLAMACPP) == read_spec(SMALLEST)


def test_a_spec_is_written_in_the_order_of_its_fields() -> None:
    spec = read_spec(
        {
            "api": "openai-v1",
            "sticky": True,
            "excludes": ["a"],
            "model": "m",
            "serve": {"extra_args": ["--jinja"], "ctx": 1, "host": "::1"},
            "runtime": "infer.llamacpp",
            "role": "r",
        }
    )
    written = write_spec(spec)
    assert list(written) == (
        [
            "role",
            "model",
            "runtime",
            "serve",
            "memory",
            "excludes",
            "latency_class",
            "sticky",
            "api",
        ]
    )
    serve = written["serve"]
    assert isinstance(serve, dict)
    assert list(serve) == ["host", "ctx", "extra_args"]


@given(VALID_SPECS)
def test_writing_and_reading_are_inverse(spec: InferenceSpec) -> None:
    validate(spec)
    assert read_spec(write_spec(spec)) == spec
    assert base_url(spec).startswith(("http://127.", "http://[::1]:"))


@given(NEAR_SPECS)
def test_no_document_raises_anything_but_a_refusal(document: Any) -> None:
    try:
        spec = read_spec(document)
    except MalformedSpec:
        return
    assert read_spec(write_spec(spec)) == spec
    try:
        made = workload(spec)
    except InvalidConfig:
        return
    assert made.id == spec.role


@pytest.mark.parametrize(
    "value", [True, False, 1.0, 8080.0, "8080", -1, 65536, 10**400, [], {}, 1e300]
)
def test_a_port_is_an_exact_integer_of_16_bits(value: object) -> None:
    assert malformed({**SMALLEST, "serve": {"port": value}}) == "serve.port"


@pytest.mark.parametrize("value", [True, 1.0, "1", -1, 2**32])
def test_a_context_is_an_exact_integer_of_32_bits(value: object) -> None:
    assert malformed({**SMALLEST, "serve": {"ctx": value}}) == "serve.ctx"


@pytest.mark.parametrize("value", [True, 1.0, "1", -1, 2**64, None])
def test_memory_is_an_exact_integer_of_64_bits(value: object) -> None:
    memory = {"weights_bytes": value, "kv_budget_bytes": 0}
    assert malformed({**SMALLEST, "memory": memory}) == "memory.weights_bytes"


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("role", [None, 1, True, [], "\ud800"]),
        ("model", [1, [], "a\udfff"]),
        ("runtime", [None, 0, "", "Infer.llamacpp", "infer.llamacpp\n", ["infer.llamacpp"]]),
        ("serve", [None, [], "", 0]),
        ("memory", [None, [], {}, 0]),
        ("excludes", [None, "a", {"a": 1}, [1], [None], "role:a"]),
        ("latency_class", [None, "BATCH", "", 0, "batch "]),
        ("sticky", [None, 0, 1, "true", "yes", 1.0]),
        ("api", [None, 1, []]),
    ],
)
def test_a_field_takes_values_of_its_own_type_only(key: str, values: list[object]) -> None:
    for value in values:
        assert malformed({**SMALLEST, key: value}).startswith(key)


@pytest.mark.parametrize("key", ["model", "serve"])
def test_null_means_missing_where_a_field_is_optional(key: str) -> None:
    optional = {"host": None, "port": None, "ctx": None, "kv_quant": None, "draft_model": None}
    document = {**SMALLEST, key: optional if key == "serve" else None}
    assert read_spec(document) == read_spec(SMALLEST)


def test_extra_args_are_never_null() -> None:
    assert malformed({**SMALLEST, "serve": {"extra_args": None}}) == "serve.extra_args"


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({**SMALLEST, "Role": "x"}, "Role"),
        ({**SMALLEST, "serve": {"threads": 4}}, "serve.threads"),
        ({"role": "r", 1: 2}, ""),
        ([SMALLEST], ""),
        (None, ""),
        ("infer.llamacpp", ""),
    ],
)
def test_the_shape_is_closed(document: object, field: str) -> None:
    assert malformed(document) == field


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"runtime": "vllm"},
            ["runtime", '"vllm"', "'infer.llamacpp', 'infer.mlx-lm' or 'infer.ollama'"],
        ),
        ({"surprise": "sk-123"}, ["surprise", "unknown key", "role, model, runtime"]),
        ({"role": 7}, ["role", "7 is refused", "must be text", "quote it"]),
        ({"excludes": "a"}, ["excludes", '"a" is refused', "must be a list"]),
        ({"serve": None}, ["serve", "null is refused", "must be an object"]),
        ({"serve": {"port": 65536}}, ["serve.port", "65536 is refused", "less than 65536"]),
        ({"serve": {"port": True}}, ["serve.port", "true is refused", "a whole number"]),
        ({"sticky": 1}, ["sticky", "1 is refused", "true or false"]),
    ],
)
def test_a_refusal_of_shape_says_what_is_accepted(change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(MalformedSpec) as refused:
        read_spec({**SMALLEST, **change})
    assert [word for word in words if word not in str(refused.value)] == []
    assert "sk-123" not in str(refused.value)


def test_a_field_has_a_json_pointer() -> None:
    assert field_pointer("serve.extra_args[2]") == "/serve/extra_args/2"
    assert field_pointer("") == ""


def test_a_workload_gives_back_its_spec() -> None:
    spec = read_spec(SMALLEST)
    assert inference_spec_of(workload(spec), Flavour.LLAMACPP) is spec


def test_a_workload_of_another_kind_is_not_admitted() -> None:
    with pytest.raises(AdmissionRefused, match=r"infer\.ollama runs inference only") as refused:
        inference_spec_of(Workload(WorkloadKind.JOB, "j", "1"), Flavour.OLLAMA)
    assert str(refused.value.code) == "admission-refused"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"runtime": "infer.ollama"}, "role: missing; this field is required: it is the name"),
        ({"role": "r"}, "it is one of infer.llamacpp, infer.mlx-lm, infer.ollama"),
        ({**SMALLEST, "memory": {"kv_budget_bytes": 0}}, "a whole number of bytes"),
        ({**SMALLEST, "memory": {"weights_bytes": 0}}, "a whole number of bytes"),
    ],
)
def test_a_refusal_of_what_is_missing_says_what_to_give(
    document: dict[str, object], told: str
) -> None:
    with pytest.raises(MalformedSpec) as refused:
        read_spec(document)
    assert told in str(refused.value)
