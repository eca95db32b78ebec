"""`cuttlebone bench infer` with the real model, in short."""

from pathlib import Path

import pytest

from cli.conftest import Cli

SHORT = ("--prompt-words", "8", "--max-tokens", "4")

pytestmark = pytest.mark.model


def test_each_round_is_a_line_of_a_table(cli: Cli, demo_model: Path) -> None:
    ended = cli("bench", "infer", "--concurrency", "1,3", *SHORT)
    name, head, *rows = ended.out.splitlines()
    assert (ended.status, ended.err) == (0, "")
    assert name == f"{demo_model.name}: prompts of 8 words, at most 4 tokens"
    assert head.split() == ["at", "once", "tokens/s", "each", "first", "token"]
    assert [row.split()[0] for row in rows] == ["1", "3"]
    assert all(float(row.split()[1]) > 0 for row in rows)


def test_programs_get_the_numbers_that_the_table_is_made_of(cli: Cli, demo_model: Path) -> None:
    ended = cli("bench", "infer", "--concurrency", "3", *SHORT, "--json")
    assert isinstance(ended.result, dict)
    assert ended.result["model"] == demo_model.name
    (row,) = ended.result["rounds"]
    assert (row["concurrency"], row["prompt_words"], row["max_tokens"]) == (3, 8, 4)
    assert (row["tokens_in"] >= 3 * 8, row["tokens_out"]) == (True, 3 * 4)
    assert row["tokens_per_s"] == pytest.approx(row["tokens_out"] / row["seconds"], rel=0.01)
    assert 0 < row["first_token_s"] <= row["seconds"]


def test_a_model_that_cannot_be_loaded_is_a_complaint_and_nothing_on_stdout(cli: Cli) -> None:
    ended = cli("bench", "infer", "--model", "/no/such.gguf", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert "/no/such.gguf" in str(ended.complaint)


def test_a_prompt_beyond_the_context_is_a_complaint_that_says_what_to_do(cli: Cli) -> None:
    ended = cli("bench", "infer", "--prompt-words", "5000", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert "shorter" in str(ended.complaint)


@pytest.mark.parametrize("numbers", ["0", "1025", "1,", "a", "-1", "1 2"])
def test_numbers_out_of_range_are_refused_before_anything_is_loaded(cli: Cli, numbers: str) -> None:
    ended = cli("bench", "infer", "--concurrency", numbers)
    assert ended.status == 2
    assert "1 to 1024" in ended.err
