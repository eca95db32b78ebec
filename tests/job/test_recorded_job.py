"""The document of a recorded job: the same whether it is made whole or in parts."""

from datetime import UTC, datetime

import pytest

from cuttlebone.job.job import Job
from cuttlebone.job.journal import JournalEntry, digest
from cuttlebone.job.recorded_job import (
    read_recorded_job,
    recorded_job,
    recorded_job_parts,
)
from cuttlebone.job_options import Limits
from cuttlebone_abi import Completed, Envelope, Usage, dump_json

USAGE = Usage(tokens_in=1, tokens_out=2, duration_ms=3, model="m")
NASTY = b'{"steps":[],"envelope":null}]}"\\u2028'


def job(envelope: Envelope | None) -> Job:
    return Job(
        id="a",
        spec='"steps":[]',
        input=b'{"steps":[],"envelope":null}',
        limits=Limits(),
        labels={},
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        envelope=envelope,
    )


def entry(step: int) -> JournalEntry:
    return JournalEntry(
        step=step,
        command="emit",
        command_sha256=digest(NASTY),
        event_sha256=digest(b"[]"),
        event=b"[]",
        reply=NASTY,
        pieces=("a", "]"),
    )


@pytest.mark.parametrize("envelope", [None, Completed(result={"steps": []}, usage=USAGE)])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_parts_of_a_document_are_the_document(steps: int, envelope: Envelope | None) -> None:
    entries = [entry(step) for step in range(1, steps + 1)]

    parts = list(recorded_job_parts(job(envelope), entries))

    assert b"".join(parts) == dump_json(recorded_job(job(envelope), entries))
    assert len(parts) == steps + 2
    assert read_recorded_job(b"".join(parts), "it").entries() == tuple(entries)
