"""Tries a model file out in a process of its own: `python -m cuttlebone.inference.llama.trial`."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.inference.generation import Sampling
from cuttlebone.inference.llama.model import LlamaModel, LlamaOptions
from cuttlebone.inference.model import DecodeFailed, Run, Slot, Token
from cuttlebone.text import printable

TRIAL_S_MAX: Final = 600
SIZES: Final = (1, 2, 33, 64)
"""Batches that are evaluated: one token, a few and many take different paths in llama.cpp."""

_log = structlog.get_logger(__name__)


def try_out(path: Path, options: LlamaOptions) -> bool:
    """Answer whether the file can use extra buffers; raise OperatorError if it cannot be used at all.

    Some machines offer instructions that end the process once they are used (seen: AMX in a
    virtual machine that does not pass its registers on), so a process that died is tried again
    without the buffers made for them.
    """
    if _survives(path, replace(options, extra_buffers=True)) is None:
        return True
    reason = _survives(path, replace(options, extra_buffers=False))
    if reason is not None:
        raise OperatorError(f"the model file {printable(str(path))} cannot be used: {reason}")
    _log.warning("model runs without rearranged weights, slower", model=printable(path.name))
    return False


def _survives(path: Path, options: LlamaOptions) -> str | None:
    """Run one trial; answer None if it went well, else why not."""
    command = [
        sys.executable,
        *("-I", "-m", "cuttlebone.inference.llama.trial"),
        *(str(path.resolve()), str(options.context_tokens_max), str(int(options.extra_buffers))),
    ]
    try:
        done = subprocess.run(  # noqa: S603 -- our own module; the path is one argument
            command, capture_output=True, timeout=TRIAL_S_MAX, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"a trial took more than {TRIAL_S_MAX} s"
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return f"llama.cpp died of signal {-done.returncode} while trying it out"
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    return printable(lines[-1]) if lines else f"a trial ended with status {done.returncode}"


def main(arguments: list[str]) -> int:
    """Load, evaluate a few batches, and tell the reason on stdout if that fails."""
    path, context_tokens, extra_buffers = arguments
    options = LlamaOptions(
        context_tokens_max=int(context_tokens), extra_buffers=extra_buffers == "1"
    )
    try:
        model = LlamaModel(Path(path), options)
        _evaluate(model)
        model.close()
    except (OperatorError, DecodeFailed) as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


def _evaluate(model: LlamaModel) -> None:
    sampler = model.sampler(Sampling(), None)
    slot = Slot(0)
    for size in (min(size, model.info.context_tokens) for size in SIZES):
        tokens = [Token(at % model.info.vocabulary_tokens) for at in range(size)]
        rows = model.decode([Run(slot, 0, tokens, wants_logits=True)])
        model.piece(sampler.pick(rows[0]))
        model.truncate(slot, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
