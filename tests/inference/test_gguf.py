"""Only whole GGUF files reach llama.cpp."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.errors import OperatorError
from cuttlebone.inference.gguf import read_header


def string(text: str) -> bytes:
    """A GGUF string."""
    return struct.pack("<Q", len(text.encode())) + text.encode()


def entry(key: str, kind: int, value: bytes) -> bytes:
    """A metadata entry."""
    return string(key) + struct.pack("<I", kind) + value


ENTRIES = [
    entry("general.architecture", 8, string("tiny")),
    entry("tiny.block_count", 4, struct.pack("<I", 2)),
    entry("tiny.embedding_length", 4, struct.pack("<I", 64)),
    entry("tiny.attention.head_count", 4, struct.pack("<I", 4)),
    entry("tiny.attention.head_count_kv", 4, struct.pack("<I", 2)),
    entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + string("a") + string("b")),
    entry("tokenizer.ggml.scores", 9, struct.pack("<IQff", 6, 2, 0.5, 0.5)),
    entry("general.flag", 7, b"\x01"),
]


def tensor(offset: int) -> bytes:
    """A tensor of one dimension."""
    return string("weight") + struct.pack("<IQIQ", 1, 8, 0, offset)


def gguf(
    *, magic: bytes = b"GGUF", version: int = 3, tensors: int = 1, data: bytes = bytes(128)
) -> bytes:
    """A small file."""
    head = magic + struct.pack("<IQQ", version, tensors, len(ENTRIES))
    return head + b"".join(ENTRIES) + tensor(32) + data


def written(folder: Path, data: bytes) -> Path:
    """A file with these bytes."""
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def test_metadata_is_read_and_of_arrays_their_lengths(tmp_path: Path) -> None:
    header = read_header(written(tmp_path, gguf()))
    assert header.values["general.architecture"] == "tiny"
    assert "tokenizer.ggml.tokens" not in header.values
    assert (header.items("tokenizer.ggml.tokens"), header.items("no.such")) == (2, 0)


def test_the_size_of_a_cell_follows_from_the_metadata(tmp_path: Path) -> None:
    layers, heads, width = 2, 2, 16
    assert read_header(written(tmp_path, gguf())).cell_bytes() == layers * heads * 2 * width * 2


BROKEN = {
    "another format": (b"PK\x03\x04" + bytes(100), "not a GGUF model"),
    "an empty file": (b"", "not a GGUF model"),
    "another version": (gguf(version=1), "version 1"),
    "a header that is cut off": (gguf()[:60], "cut off inside its header"),
    "weights that are cut off": (gguf(data=b""), "cut off"),
    "a billion tensors": (gguf(tensors=1 << 30), "tensors; at most"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_none_is_refused_with_its_name_and_the_reason(
    name: str, tmp_path: Path
) -> None:
    data, reason = BROKEN[name]
    with pytest.raises(OperatorError, match=reason) as refusal:
        read_header(written(tmp_path, data))
    assert "model.gguf" in str(refusal.value)


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"none\.gguf"):
        read_header(tmp_path / "none.gguf")


@given(st.integers(4, len(gguf()) - 1), st.binary(min_size=1, max_size=8))
def test_damaged_files_are_read_or_refused_and_never_anything_else(
    tmp_path_factory: pytest.TempPathFactory, at: int, damage: bytes
) -> None:
    data = bytearray(gguf())
    data[at : at + len(damage)] = damage
    try:
        read_header(written(tmp_path_factory.mktemp("damaged"), bytes(data)))
    except OperatorError:
        return
