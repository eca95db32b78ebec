"""What a model is said to take is what a process has in memory that uses all of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.inference.gguf import Header
from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.memory_estimate import BATCH_TOKENS_MAX, bytes_needed

CHILD = Path(__file__).parent / "using_all_of_it.py"
LEFT_BYTES_MAX = 16 << 20
"""What libraries keep that were used once; a model has several times as much."""


@pytest.mark.model
@pytest.mark.parametrize(("layout", "contexts"), [("streams", 4), ("pool", 2)])
def test_a_model_takes_what_was_estimated_within_5_percent_and_gives_it_back(
    demo_model: Path, tmp_path: Path, layout: str, contexts: int
) -> None:
    command = [
        sys.executable,
        str(CHILD),
        str(demo_model),
        layout,
        str(contexts),
        "512",
        str(tmp_path),
    ]
    ended = subprocess.run(command, stdout=subprocess.PIPE, timeout=scaled(120), check=True)
    measured = json.loads(ended.stdout.splitlines()[-1])

    for used in measured["used"]:
        assert used == pytest.approx(measured["estimated"], rel=0.05), measured
    assert measured["left"] < LEFT_BYTES_MAX, measured


HEADER = Header(
    {
        "general.architecture": "a",
        "a.block_count": 2,
        "a.embedding_length": 64,
        "a.attention.head_count": 4,
        "a.feed_forward_length": 100,
    },
    tensors=1,
    size_bytes=1_000,
    lengths={"tokenizer.ggml.tokens": 10},
)


def test_streams_need_room_for_the_scores_of_a_batch_and_a_pool_does_not() -> None:
    scores = BATCH_TOKENS_MAX * 4096 * (5 * 4 + 4 * 2)
    streams = bytes_needed(HEADER, KvShape.streams(4), 4096)
    pool = bytes_needed(HEADER, KvShape.pool(4), 4096)
    assert scores / 2 < streams - pool < scores


def test_the_vocabulary_is_counted_where_only_its_tokens_stand_in_the_file() -> None:
    without = Header(HEADER.values, tensors=1, size_bytes=1_000)
    shape = KvShape.streams(4)
    assert bytes_needed(HEADER, shape, 512) > bytes_needed(without, shape, 512)
