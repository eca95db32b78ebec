"""What a model takes of the machine's memory, told from its header: pure arithmetic.

Measured against what llama.cpp says that it reserves, and against the memory of a process that
loads a model and uses all of it; a test holds the sum to 5 %.
"""

from typing import Final

from cuttlebone.inference.gguf import Header
from cuttlebone.inference.kv_shape import KvShape

BATCH_TOKENS_MAX: Final = 512
"""Tokens of a call; llama.cpp computes all of them at once."""
VOCABULARY_BYTES_EACH: Final = 640
"""Of each token: llama.cpp's two tables of it, our spelling of it, its place in the index for constraints."""
LIBRARIES_BYTES: Final = 14 << 20
"""What libraries take once they are used, whatever the model."""
_FLOAT: Final = 4
_HALF: Final = 2


def bytes_needed(header: Header, shape: KvShape, context_tokens: int) -> int:
    """Bytes of weights, sequences, computing and vocabulary together, all of it in use."""
    vocabulary = header.number("{arch}.vocab_size") or header.items("tokenizer.ggml.tokens")
    logits = shape.slots * vocabulary * _FLOAT
    return (
        header.size_bytes
        + shape.bytes_of(header, context_tokens)
        + _computing_bytes(header, shape, context_tokens, logits)
        + logits
        + vocabulary * VOCABULARY_BYTES_EACH
        + LIBRARIES_BYTES
    )


def _computing_bytes(header: Header, shape: KvShape, context_tokens: int, logits: int) -> int:
    """What one call needs at most: the attention of a full batch to a full context is most of it."""
    if shape.is_pool:  # flash attention: no more than which token may look at which cell
        cells = shape.contexts * context_tokens
        return logits + BATCH_TOKENS_MAX * cells * _HALF + _layer_bytes(header) // 2
    heads = header.number("{arch}.attention.head_count", 1)
    # Scores and the mask as floats, and the scores once more as halves to multiply values with.
    scores = BATCH_TOKENS_MAX * context_tokens * ((heads + 1) * _FLOAT + heads * _HALF)
    return max(logits, scores + _layer_bytes(header))


def _layer_bytes(header: Header) -> int:
    """The widest step of a layer beside its attention: both halves of the feed-forward part."""
    return BATCH_TOKENS_MAX * header.number("{arch}.feed_forward_length") * 2 * _FLOAT
