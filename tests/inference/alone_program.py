"""One prompt alone in a process of its own: what its numbers are when nothing else ever ran.

Reads `{"model", "extra_buffers", "prompt", "steps"}` from stdin, writes `{"tokens", "digests"}`: of
each step the likeliest token, and the SHA-256 of all logits that it was chosen by.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cuttlebone.inference.kv_shape import KvShape
from cuttlebone.inference.llama import LlamaModel, LlamaOptions
from cuttlebone.inference.llama.samplers import Logits, likeliest
from cuttlebone.inference.model import Run, Slot, Token

CONTEXT_TOKENS: Final = 1024


def digest(logits: Logits) -> str:
    """All bits of the logits, in few."""
    return hashlib.sha256(logits.tobytes()).hexdigest()


def alone(model: LlamaModel, prompt: Sequence[Token], steps: int) -> dict[str, object]:
    """Evaluate a prompt in the largest chunks that there are, and then token by token."""
    most = model.info.batch_tokens_max
    tokens: list[Token] = []
    digests: list[str] = []
    runs = [
        Run(Slot(0), at, prompt[at : at + most], wants_logits=at + most >= len(prompt))
        for at in range(0, len(prompt), most)
    ]
    while len(digests) < steps:
        for run in runs:
            (row,) = model.decode([run])
        logits = model.logits(row)
        tokens.append(likeliest(logits))
        digests.append(digest(logits))
        position = len(prompt) + len(tokens) - 1
        runs = [Run(Slot(0), position, [tokens[-1]], wants_logits=True)]
    return {"tokens": tokens, "digests": digests}


def main() -> None:
    """Load, evaluate, and write down what came of it."""
    asked = json.load(sys.stdin)
    options = LlamaOptions(
        context_tokens_max=CONTEXT_TOKENS,
        kv_shape=KvShape.streams(1),
        threads=1,
        extra_buffers=asked["extra_buffers"],
    )
    model = LlamaModel(Path(asked["model"]), options)
    json.dump(alone(model, asked["prompt"], asked["steps"]), sys.stdout)
    model.close()


if __name__ == "__main__":
    main()
