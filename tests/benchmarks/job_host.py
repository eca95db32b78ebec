"""The host that bench_jobs.py measures, in a process of its own, so that its clients cost it nothing.

Run: python job_host.py SPECS STATE. Writes its URL once it answers, and ends with its stdin.
"""

import logging
import sys
import threading
from pathlib import Path

from api.hosted import served
from cuttlebone.cli.logs import log_to_stderr
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json
from guest_scripts import report_and_echo


def main(specs: Path, state: Path) -> None:
    """Serve the block `echo`, and `hold`, which runs until the end and so keeps a job thread busy."""
    ended = threading.Event()

    def hold(_guest: ScriptedGuest, _value: Json) -> Commands:
        ended.wait()
        yield {"cmd": "done", "result": None}

    with served(
        specs,
        {"echo": report_and_echo, "hold": hold},
        state=state,
        jobs_running_max=2,
        jobs_waiting_max=10_000_000,
    ) as api:
        sys.stdout.write(f"{api.server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()
        ended.set()


if __name__ == "__main__":
    log_to_stderr(level=logging.ERROR)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
