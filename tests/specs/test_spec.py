"""Spec files: what is read, and what is refused with line, name and mending."""

from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.specs.spec import SPEC_BYTES_MAX, read_schema, read_spec

GOOD = """\
name: summarize
description: Use when the agent needs a summary.
block: ../blocks/summarize.wasm
model: smollm2
capabilities:
  read: [./docs, "./reports/**/*.txt"]
input: {type: object, required: [path]}
infer: {temperature: 0, max_tokens_max: 512}
limits: {time_ms: 1000, tokens_out: 4096}
"""


def spec_file(folder: Path, text: str) -> Path:
    path = folder / "one.yaml"
    path.write_text(text)
    return path


SMALLEST = "name: a\ndescription: b\nblock: c.wasm\n"


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(OperatorError) as caught:
        read_spec(spec_file(folder, text))
    return str(caught.value)


def test_a_spec_is_read_as_written(tmp_path: Path) -> None:
    spec = read_spec(spec_file(tmp_path, GOOD))

    assert spec.name == "summarize"
    assert spec.capabilities.read == ("./docs", "./reports/**/*.txt")
    assert (spec.infer.max_tokens_max, spec.limits.time_ms) == (512, 1000)
    assert spec.data_policy == "local_only"


def test_a_limit_that_is_not_stated_has_its_default(tmp_path: Path) -> None:
    assert read_spec(spec_file(tmp_path, GOOD)).limits.handles == 64


@pytest.mark.parametrize(
    ("more", "time_ms"),
    [
        ("", 60_000),
        ("model: small\n", 600_000),
        ("model: small\nlimits: {steps: 5}\n", 600_000),
        ("model: small\nlimits: {time_ms: 60000}\n", 60_000),
    ],
)
def test_jobs_with_a_model_have_more_time_unless_the_spec_says_how_much(
    tmp_path: Path, more: str, time_ms: int
) -> None:
    spec = read_spec(spec_file(tmp_path, SMALLEST + more))
    assert spec.job_limits == spec.limits.model_copy(update={"time_ms": time_ms})


def test_json_is_a_spec_too(tmp_path: Path) -> None:
    text = '{"name": "a", "description": "b", "block": "c.wasm"}'

    assert read_spec(spec_file(tmp_path, text)).block == "c.wasm"


def test_yaml_is_read_as_version_1_2(tmp_path: Path) -> None:
    assert read_spec(spec_file(tmp_path, GOOD.replace("summarize\n", "yes\n", 1))).name == "yes"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("limits:", "limit:", ":9: unknown key `limit`; did you mean `limits`?"),
        ("time_ms", "time", ":9: unknown key `limits.time`; did you mean `time_ms`?"),
        ("  read:", "  reed:", ":6: unknown key `capabilities.reed`; did you mean `read`?"),
        ("block: ../blocks/summarize.wasm\n", "", ":1: the key `block` is required and missing"),
        ("time_ms: 1000", "time_ms: 0", ":9: `limits.time_ms`: should be greater than or equal"),
        ("time_ms: 1000", "time_ms: 1.0", ":9: `limits.time_ms`: should be a valid integer"),
        ("time_ms: 1000", "time_ms: true", ":9: `limits.time_ms`: should be a valid integer"),
        ("name: summarize", "name: Sum Up", ":1: `name` is 'Sum Up', but may have only"),
        (
            "{temperature: 0,",
            "{top_p: 2,",
            ":8: `infer.top_p`: should be above 0 and at most 1, but is 2",
        ),
        (
            "{temperature: 0,",
            "{top_k: 1.5,",
            ":8: `infer.top_k`: should be a whole number, at least 1",
        ),
        ("{temperature: 0,", "{temperature: -1,", ":8: `infer.temperature`: should be at least 0"),
        ("name: summarize", "name: 7", ":1: `name`: should be a valid string"),
        ("model: smollm2", "model: [smollm2", ": line 5, column 13: expected ',' or ']'"),
        ("[./docs,", "[1,", ":6: `capabilities.read[0]`: should be a valid string"),
        (
            "model: smollm2",
            "name: again",
            ': line 4: the key "name" stands here for the second time',
        ),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    message = refusal(tmp_path, GOOD.replace(old, new, 1))

    assert f"one.yaml{said}" in message


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD.replace("limits:", "limit:").replace("model:", "modle:"))

    assert len(message.splitlines()) == 2


@pytest.mark.parametrize("text", ["", "- a\n", "just text", "[" * 3000])
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    assert "one.yaml" in refusal(tmp_path, text)


def test_terminal_sequences_in_a_key_are_escaped(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD + '"\\x1b[2J": 1\n')

    assert "\x1b" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"none\.yaml: cannot be read: No such file"):
        read_spec(tmp_path / "none.yaml")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    assert str(SPEC_BYTES_MAX) in refusal(tmp_path, GOOD + "#" * SPEC_BYTES_MAX)


def test_a_file_that_is_not_utf8_is_named_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_bytes(b"name: \xff")

    with pytest.raises(OperatorError, match="not UTF-8: invalid start byte at byte 6"):
        read_spec(path)


def test_a_schema_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text('{"type": "object"}')

    assert read_schema("input.json", tmp_path) == {"type": "object"}


@pytest.mark.parametrize("name", ["one.json/", "one.json/.", ".", ""])
def test_a_file_is_not_read_by_the_name_of_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "one.json").write_text("{}")
    with pytest.raises(OperatorError, match="names a folder, where a file is needed"):
        read_schema(name, tmp_path)


def test_what_stands_before_the_first_turn_is_said_in_the_spec(tmp_path: Path) -> None:
    stated = "infer: {repeat_last: 256, system: {use: text, text: none}}"
    spec = read_spec(spec_file(tmp_path, f"{SMALLEST}{stated}\n"))

    assert (spec.infer.repeat_last, spec.infer.system.text) == (256, "none")


@pytest.mark.parametrize(
    "system", ["{use: text}", "{use: none, text: a}", "{text: a}", "{use: maybe}", "none"]
)
def test_a_system_use_that_contradicts_itself_is_refused(tmp_path: Path, system: str) -> None:
    assert "infer.system" in refusal(tmp_path, f"{SMALLEST}infer: {{system: {system}}}\n")
