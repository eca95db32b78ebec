"""A host that is made to be killed: real store, real HTTP, scripted blocks, a model that keeps accounts.

Run: python host.py SPECS STATE PORT PAID. Each generation that is evaluated is noted in the file
PAID before its first token is there, by a write that a kill cannot undo.
"""

import logging
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from api.hosted import served
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.inference.interrupt import Interrupt
from cuttlebone.inference.model import Run
from cuttlebone.testing import Commands, Script, ScriptedGuest, ScriptedModel
from cuttlebone_abi import Json
from guest_scripts import report_and_echo
from hosts import serving

PAUSE_S: Final = 0.002
"""What a block takes for a step, so that a kill finds jobs in every phase."""
_GENERATION: Final = re.compile(r"<gen ([^>]+)>")


class PaidModel(ScriptedModel):
    """Notes in a file which generations it evaluates."""

    def __init__(self, paid: Path) -> None:
        super().__init__({"<gen ": "one two three four"}, shares_prefixes=False)
        self._paid = os.open(paid, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def decode(self, runs: Sequence[Run], interrupt: Interrupt | None = None) -> list[int]:
        """Note each run that ends a prompt, which is the only one with several tokens."""
        done = super().decode(runs, interrupt)
        self.batches.clear()
        for run in (runs[index] for index in done):
            found = _GENERATION.findall(self.said(run.slot)) if len(run.tokens) > 1 else []
            for name in found:
                os.write(self._paid, f"{name}\n".encode())
        return done


def work(_guest: ScriptedGuest, value: Json) -> Commands:
    """Read, then report and generate in turn, `rounds` times."""
    opened = yield {"cmd": "open", "path": "a.txt"}
    read = yield {"cmd": "slice", "handle": 1, "offset": 0, "len": opened["len"]}
    said = []
    for number in range(value["rounds"]):
        yield {"cmd": "emit", "progress": {"round": number}}
        time.sleep(PAUSE_S)
        prompt = f"<gen {value['name']}/{number}>"
        answer = yield {"cmd": "infer", "prompt": prompt, "max_tokens": 20}
        said.append(answer["text"])
    yield {"cmd": "done", "result": [read["text"], *said]}


SCRIPTS: Final[dict[str, Script]] = {"work": work, "echo": report_and_echo}
MORE: Final = "model: small\ncapabilities: {read: [a.txt]}"


def main(specs: Path, state: Path, port: int, paid: Path) -> None:
    """Serve until a signal ends the process."""
    endpoints = serving("small", PaidModel(paid))
    with served(
        specs,
        SCRIPTS,
        endpoints=endpoints,
        more=MORE,
        port=port,
        state=state,
        attempts_max=1_000_000,
        jobs_running_max=4,
    ) as api:
        sys.stdout.write(f"{api.server.url}\n")
        sys.stdout.flush()
        signal.sigwait({signal.SIGTERM})


if __name__ == "__main__":
    # Blocked before any thread is there, so that only `sigwait` gets it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    log_to_stderr(level=logging.WARNING)
    _, specs, state, port, paid = sys.argv
    main(Path(specs), Path(state), int(port), Path(paid))
