"""Loads a model twice and uses all of its memory: writes how many bytes that took, and how many are left.

In a process of its own, so that nothing else is measured.
"""

import gc
import json
import os
import sys
from pathlib import Path

from cuttlebone.generation.request import CompileTerms, Grammar
from cuttlebone.inference.gguf import read_header
from cuttlebone.inference.kv_shape import KvLayout, KvShape, context_tokens_of
from cuttlebone.inference.llama.loading import tried_options
from cuttlebone.inference.llama.model import LlamaModel, LlamaOptions
from cuttlebone.inference.memory_estimate import BATCH_TOKENS_MAX, bytes_needed
from cuttlebone.inference.model import Run, Slot, Token


def resident_bytes() -> int:
    """What this process has in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def use(model: LlamaModel) -> None:
    """Have a prompt as long as the context, a token for each sequence, and a constraint."""
    last = model.info.context_tokens - 1
    for begin in range(0, last, BATCH_TOKENS_MAX):
        tokens = [Token(at % 900) for at in range(begin, min(begin + BATCH_TOKENS_MAX, last))]
        model.decode([Run(Slot(0), begin, tokens, wants_logits=True)])
    model.truncate(Slot(0), 64)  # a pool has room for others then
    others = [Slot(number) for number in range(1, min(16, model.info.kv_shape.slots))]
    for slot in others:
        model.copy(Slot(0), slot, 64)
    model.decode([Run(slot, 64, [Token(1)], wants_logits=True) for slot in (Slot(0), *others)])
    model.compile(Grammar('root ::= "a"'), CompileTerms())


def main(path: Path, layout: str, contexts: int, context_tokens: int, trials: Path) -> None:
    """Measure and write."""
    shape = KvShape.pool(contexts) if layout == KvLayout.POOL.value else KvShape.streams(contexts)
    header = read_header(path)
    context_tokens = context_tokens_of(header, context_tokens)
    options = LlamaOptions(context_tokens_max=context_tokens, kv_shape=shape, threads=1)
    options, _ = tried_options(path, options, trials=trials)
    before = resident_bytes()
    used = []
    for _ in range(2):
        model = LlamaModel(path, options)
        use(model)
        used.append(resident_bytes() - before)
        model.close()
        del model
    measured = {
        "estimated": bytes_needed(header, shape, context_tokens),
        "used": used,
        "left": resident_bytes() - before,
    }
    sys.stdout.write(f"\n{json.dumps(measured)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
