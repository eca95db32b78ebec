"""Changes a store from several threads and notes in a file each promise that it was given.

Run: python power_writer.py STATE JOBS, with power_log preloaded. A line of the file `promises`
is written after the store has answered, so what it says has to survive from then on.
"""

import json
import os
import sys
import threading
from pathlib import Path

from cuttlebone.job.events import EventKind
from cuttlebone.job.job import Job, now
from cuttlebone.job.journal import JournalEntry, digest
from cuttlebone.job_options import Limits
from cuttlebone.store.sqlite import stores_over
from cuttlebone.store.sqlite.database import Database
from cuttlebone.store.stores import Stores
from cuttlebone_abi import Completed, Usage

THREADS = 4
PROMISES = "promises"
DONE = Completed(result="x" * 500, usage=Usage(tokens_in=1, tokens_out=1, duration_ms=1, model=""))


def run(stores: Stores, promises: int, name: str, jobs: int) -> None:
    """Accept and see to their ends a number of jobs."""

    def promised(what: str, job: str) -> None:
        os.write(promises, json.dumps([what, job]).encode() + b"\n")

    for number in range(jobs):
        job = Job(
            id=f"{name}-{number}",
            spec="echo",
            input=b'{"text":"%b"}' % (b"y" * 2000),
            limits=Limits(),
            labels={},
            created_at=now(),
        )
        stores.jobs.insert(job, waiting_max=1_000_000).result()
        promised("accepted", job.id)
        claimed = stores.jobs.claim()
        if claimed is None:
            continue
        stores.events.append(claimed.fence, EventKind.PROGRESS, number)
        stores.journal.record(claimed.fence, _generation())
        promised("recorded", claimed.id)
        stores.jobs.finish(claimed.fence, envelope=DONE, accounting=None)
        promised("finished", claimed.id)


def _generation() -> JournalEntry:
    event = b'{"event":"infer_done"}' * 20
    return JournalEntry(1, "infer", digest(b"c"), digest(event), event)


def main(state: Path, jobs: int) -> None:
    """Run to the end; whoever preloaded the log cuts it where he likes."""
    database = Database(state)
    stores = stores_over(database)
    # Far more often than by default, so that many cuts fall into a checkpoint.
    pragma = "pragma wal_autocheckpoint = 30"
    database.do(lambda transaction: transaction.connection.execute(pragma).fetchall())
    promises = os.open(state / PROMISES, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    threads = [
        threading.Thread(target=run, args=(stores, promises, f"t{number}", jobs))
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stores.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
