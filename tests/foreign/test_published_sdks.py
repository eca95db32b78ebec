"""Blocks over the SDK that others have published, from its first version that infers, run unchanged."""

import base64
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone_abi import Completed, Failed
from foreign.conftest import OpenRun, Run
from foreign.published import SDK_VERSIONS, block_name
from guest_examples.modules import ROOT

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(scaled(900)),
]  # the first build also builds serde

TIDE_MILL = ROOT / "guest-examples" / "c" / "summarize" / "texts" / "tide-mill.txt"
BEGINNING = TIDE_MILL.read_bytes()[:1200]
LONG_CHARS = 1_000_000
LONG = "€uro " * (LONG_CHARS // 5)
"""1.4 MB: more than one window of a host that cuts them at a mebibyte."""


@pytest.fixture(scope="module")
def run(blocks: Path, open_run: OpenRun) -> Run:
    texts = blocks / "texts"
    (texts / "tide-mill.txt").write_bytes(BEGINNING)
    (texts / "long.txt").write_text(LONG)
    return open_run()


@pytest.mark.parametrize("sdk_version", SDK_VERSIONS)
def test_a_file_is_summed_up_by_the_model(run: Run, sdk_version: str) -> None:
    envelope = run(block_name("summarise", sdk_version), {"path": "texts/tide-mill.txt"})

    assert isinstance(envelope, Completed), envelope
    assert envelope.result["bytes"] == len(BEGINNING)
    assert envelope.result["summary"].strip()
    assert envelope.result["tokens_out"] == envelope.usage.tokens_out <= 24
    assert envelope.usage.model == "smollm2"


@pytest.mark.parametrize("sdk_version", SDK_VERSIONS)
@pytest.mark.parametrize(("window", "windows"), [(None, 1), (100_001, 14)])
def test_a_file_is_walked_and_taken_whole(
    run: Run, sdk_version: str, window: int | None, windows: int
) -> None:
    asked = {"path": "texts/long.txt", "window": window}
    envelope = run(block_name("walk", sdk_version), asked)

    assert isinstance(envelope, Completed), envelope
    head = base64.b64encode("€".encode()).decode()
    assert envelope.result == {
        "chars": LONG_CHARS,
        "windows": windows,
        "head": head,
    }


@pytest.mark.parametrize("sdk_version", SDK_VERSIONS)
def test_what_is_not_granted_ends_the_job(run: Run, sdk_version: str) -> None:
    envelope = run(block_name("walk", sdk_version), {"path": "walk.yaml"})

    assert isinstance(envelope, Failed)
    assert envelope.error.code == "capability_denied"
