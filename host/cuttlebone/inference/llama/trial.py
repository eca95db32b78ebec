"""Tries a model file out in a process of its own: `python -m cuttlebone.inference.llama.trial`."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import structlog

from cuttlebone.errors import OperatorError
from cuttlebone.generation.request import Sampling
from cuttlebone.inference.kv_shape import KvLayout, KvShape
from cuttlebone.inference.llama.model import LlamaModel, LlamaOptions
from cuttlebone.inference.model import DecodeFailed, Run, Slot, Token
from cuttlebone.inference.progress import Report, go_on
from cuttlebone.text import printable

TRIAL_S_MAX: Final = 600
_LOOK_S: Final = 0.1
"""How often a load that is trying looks whether it is still wanted."""
SIZES: Final = (1, 2, 33, 64)
"""Batches that are evaluated: one token, a few and many take different paths in llama.cpp."""

_log = structlog.get_logger(__name__)


def try_out(path: Path, options: LlamaOptions, report: Report) -> bool:
    """Tell whether the file can use extra buffers; raise OperatorError if it cannot be used at all.

    Some machines offer instructions that end the process once they are used (seen: AMX in a
    virtual machine that does not pass its registers on), so a process that died is tried again
    without the buffers made for them.
    """
    if _survives(path, replace(options, extra_buffers=True), report) is None:
        return True
    reason = _survives(path, replace(options, extra_buffers=False), report)
    if reason is not None:
        raise OperatorError(f"the model file {printable(str(path))} cannot be used: {reason}")
    _log.warning("model runs without rearranged weights, slower", model=printable(path.name))
    return False


def _survives(path: Path, options: LlamaOptions, report: Report) -> str | None:
    """Run one trial; answer None if it went well, else why not. Raises LoadAborted."""
    command = [
        sys.executable,
        *("-I", "-m", "cuttlebone.inference.llama.trial"),
        *(str(path.resolve()), str(options.context_tokens_max), str(int(options.extra_buffers))),
        options.kv_shape.layout,
    ]
    with subprocess.Popen(  # noqa: S603 -- our own module; the path is one argument
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            said = _said(process, report)
        finally:
            process.kill()  # does nothing to one that has ended
    if said is None:
        return f"a trial took more than {TRIAL_S_MAX} s"
    if process.returncode == 0:
        return None
    if process.returncode < 0:
        return f"llama.cpp died of signal {-process.returncode} while trying it out"
    lines = said.decode(errors="replace").strip().splitlines()
    return printable(lines[-1]) if lines else f"a trial ended with status {process.returncode}"


def _said(process: subprocess.Popen[bytes], report: Report) -> bytes | None:
    """What a trial wrote until its end; None when that takes too long. Raises LoadAborted."""
    deadline_s = time.monotonic() + TRIAL_S_MAX
    while time.monotonic() < deadline_s:
        go_on(report)
        try:
            return process.communicate(timeout=_LOOK_S)[0]
        except subprocess.TimeoutExpired:
            continue  # what it has written meanwhile is kept for the next call
    return None


def main(arguments: list[str]) -> int:
    """Load, evaluate a few batches, and tell the reason on stdout if that fails."""
    path, context_tokens, extra_buffers, layout = arguments
    options = LlamaOptions(
        context_tokens_max=int(context_tokens),
        kv_shape=KvShape(KvLayout(layout), slots=1, contexts=1, generations_max=1),
        extra_buffers=extra_buffers == "1",
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
