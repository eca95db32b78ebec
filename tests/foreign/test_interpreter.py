"""The script interpreter that others ship as a built module runs scripts here."""

from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone_abi import Completed, Envelope, Failed, Json
from foreign.conftest import OpenRun, Run

pytestmark = [pytest.mark.model, pytest.mark.timeout(scaled(900))]

WHOLE_FILE = """
let f = open(input.path);
let s = slice(f.handle, 0, f.len);
#{ text: s.text, len: f.len }
"""
ASKS = '#{ said: infer("Say a word about " + input.topic, 8) }'


@pytest.fixture(scope="module")
def run(interpreter: Path, open_run: OpenRun) -> Run:
    (interpreter / "texts" / "note.txt").write_text("a note")
    return open_run()


def script(run: Run, text: str, value: Json) -> Envelope:
    """Run a script as the host of others does, which puts it beside the input."""
    return run("interpreter", {"__cuttlefish_script": text, "input": value})


def test_a_script_computes(run: Run) -> None:
    envelope = script(run, "#{ doubled: input.n * 2 }", {"n": 21})

    assert isinstance(envelope, Completed), envelope
    assert envelope.result == {"doubled": 42}


def test_a_script_reads_a_file(run: Run) -> None:
    envelope = script(run, WHOLE_FILE, {"path": "texts/note.txt"})

    assert isinstance(envelope, Completed), envelope
    assert envelope.result == {"text": "a note", "len": 6}


def test_a_script_asks_the_model(run: Run) -> None:
    envelope = script(run, ASKS, {"topic": "the sea"})

    assert isinstance(envelope, Completed), envelope
    assert envelope.result["said"].strip()
    assert 0 < envelope.usage.tokens_out <= 8


def test_a_script_with_a_fault_fails_in_its_own_words(run: Run) -> None:
    envelope = script(run, "let x = ;", {})

    assert isinstance(envelope, Failed)
    assert envelope.error.code == "script_error"
