"""How many sequences a model's memory is made for, and in which layout."""

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.inference.gguf import Header
from cuttlebone.inference.kv_shape import (
    KvShape,
    context_bytes,
    context_tokens_of,
    shape_of,
)
from cuttlebone.settings import KvLayoutChoice

HEADER = Header(
    {
        "general.architecture": "tiny",
        "tiny.context_length": 2048,
        "tiny.block_count": 2,
        "tiny.embedding_length": 64,
        "tiny.attention.head_count": 4,
        "tiny.attention.head_count_kv": 2,
    },
    tensors=1,
    size_bytes=1 << 20,
)
CELL_BYTES = 2 * 2 * (16 + 16) * 2
EACH = 1024 * CELL_BYTES


def shape(contexts: float, *, choice: str = "auto", generations_max: int = 16) -> KvShape:
    """The shape with memory for so many whole contexts."""
    return shape_of(
        HEADER,
        choice=KvLayoutChoice(choice),
        bytes_max=int(contexts * EACH),
        context_tokens=1024,
        generations_max=generations_max,
    )


def test_a_context_is_at_most_what_the_model_was_trained_with() -> None:
    assert context_tokens_of(HEADER, 4096) == 2048
    assert context_tokens_of(HEADER, 512) == 512
    assert context_tokens_of(Header({}, 1, 1), 512) == 512


def test_a_context_takes_what_llama_cpp_rounds_it_up_to() -> None:
    assert context_bytes(HEADER, 1024) == EACH
    assert context_bytes(HEADER, 1000) == EACH
    assert shape(5.5).bytes_of(HEADER, 1024) == 5 * EACH


@pytest.mark.parametrize(
    ("contexts", "expected"), [(100, 16), (16, 16), (15.9, 15), (4, 4), (4.5, 4)]
)
def test_there_are_as_many_streams_as_fit_up_to_generations_max(
    contexts: float, expected: int
) -> None:
    assert shape(contexts) == KvShape.streams(expected)


@pytest.mark.parametrize(("contexts", "expected"), [(3.9, 2), (2, 2), (1.5, 1), (0.1, 1)])
def test_where_too_few_streams_fit_sequences_share_a_pool(contexts: float, expected: int) -> None:
    assert shape(contexts) == KvShape.pool(expected, generations_max=16)


def test_who_wants_few_generations_has_few_streams() -> None:
    assert shape(2, generations_max=2) == KvShape.streams(2)


def test_a_layout_that_is_stated_holds() -> None:
    assert shape(2, choice="streams") == KvShape.streams(2)
    assert shape(100, choice="pool") == KvShape.pool(2, generations_max=16)


def test_streams_of_which_not_one_fits_are_refused_with_what_helps() -> None:
    with pytest.raises(OperatorError, match="kv_memory_bytes"):
        shape(0.9, choice="streams")
