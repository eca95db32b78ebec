"""The values of a spec: the order of checks, allowed flags, words of refusals."""

from typing import Any

import pytest

from cuttlebone.endpoints.config.spec import (
    InvalidConfig,
    read_spec,
    validate,
)
from endpoints.config.specs import SMALLEST, invalid, refused_field


def test_the_largest_integer_of_64_bits_is_read_and_then_over_the_bound() -> None:
    memory = {"weights_bytes": 0, "kv_budget_bytes": 2**64 - 1}
    assert invalid({**SMALLEST, "memory": memory}) == "memory.kv_budget_bytes"


ORDER: list[tuple[str, dict[str, Any]]] = [
    ("role", {"role": " "}),
    ("model", {"model": "a/b"}),
    ("serve.draft_model", {"serve": {"draft_model": "a/b"}}),
    ("serve.host", {"serve": {"host": "10.0.0.1"}}),
    ("serve.port", {"serve": {"port": 0}}),
    ("serve.ctx", {"serve": {"ctx": 0}}),
    ("serve.kv_quant", {"serve": {"kv_quant": "a:b"}}),
    ("serve.draft_model", {"runtime": "infer.ollama", "serve": {"draft_model": "d"}}),
    ("serve.extra_args[0]", {"serve": {"extra_args": ["-m"]}}),
    ("memory.weights_bytes", {"memory": {"weights_bytes": 2**42 + 1, "kv_budget_bytes": 0}}),
    ("memory.kv_budget_bytes", {"memory": {"weights_bytes": 0, "kv_budget_bytes": 2**42 + 1}}),
    ("excludes[1]", {"excludes": ["a", "role: b"]}),
    ("api", {"api": "OpenAI-v1"}),
]


@pytest.mark.parametrize("at", range(len(ORDER)))
def test_the_first_failing_check_is_reported(at: int) -> None:
    document: dict[str, Any] = dict(SMALLEST)
    # Later faults first, so that an earlier one of the same field stands.
    for _, fault in reversed(ORDER[at:]):
        for key, value in fault.items():
            old = document.get(key)
            document[key] = {**old, **value} if isinstance(old, dict) else value
    assert invalid(document) == ORDER[at][0]


@pytest.mark.parametrize("flag", ["--jinja", "--seed", "-t"])
def test_a_word_after_a_flag_is_its_value_or_a_flag(flag: str) -> None:
    entries = [flag, "1"]
    expected = {"--jinja": "serve.extra_args[1]"}.get(flag)
    assert refused_field({**SMALLEST, "serve": {"extra_args": entries}}) == expected


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (["--jinja"] * 33, "33 entries are too many; at most 32"),
        (["--threads 4"], "white space or a NUL"),
        (["--jinja\x0c"], "white space or a NUL"),
        (["\x00"], "white space or a NUL"),
        (["--jinja\x0b"], "not on the list of flags for infer.llamacpp"),
        (["--jinja\u00a0"], "not on the list of flags for infer.llamacpp"),
        (["--JINJA"], "spelling must match exactly"),
        (["--thread", "4"], "not on the list"),
        (["--threads=4"], "a value is an entry of its own"),
        ([""], "not on the list"),
        (["--threads"], "the flag --threads needs 1 value"),
        (["--threads", ""], '"" is no value for --threads'),
        (["--threads", "--jinja"], '"--jinja" is no value for --threads'),
        (["--threads", "-1_000"], '"-1_000" is no value for --threads'),
        (["--threads", "\u0663"], "is no value for --threads"),
    ],
)
def test_a_refused_argument_is_named_with_the_rule(entries: list[str], told: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate(read_spec({**SMALLEST, "serve": {"extra_args": entries}}))
    assert told in str(refused.value)
    assert str(refused.value).startswith("serve.extra_args")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"role": "a b"}, ["role", '"a b"', "1 to 64 bytes", "A-Z a-z 0-9"]),
        (
            {"serve": {"host": "0.0.0.0"}},
            ["serve.host", '"0.0.0.0"', "beyond loopback", "127.0.0.0/8"],
        ),
        ({"serve": {"host": "here"}}, ["serve.host", '"here"', "not an IP address", "localhost"]),
        ({"serve": {"port": 0}}, ["serve.port", "must not be 0", "1 to 65535", "8090"]),
        ({"serve": {"kv_quant": "a+b"}}, ["serve.kv_quant", '"a+b"', "q8_0"]),
        ({"api": "grpc"}, ["api", '"grpc"', "openai-v1"]),
    ],
)
def test_a_refusal_says_field_value_rule_and_what_is_accepted(
    change: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate(read_spec({**SMALLEST, **change}))
    assert [word for word in words if word not in str(refused.value)] == []
