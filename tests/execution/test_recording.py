"""What a recorded job holds, and what of it is believed."""

from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.execution.replay.replay import End
from cuttlebone.job.recorded_job import read_recorded_job
from cuttlebone.job_options import Recording
from cuttlebone_abi import dump_json
from execution.recordings import MORE, TEXT, again_with_files, record


def test_no_content_of_a_file_is_recorded_unless_it_was_asked_for(folder: Path) -> None:
    assert TEXT not in record(folder).model_dump_json()
    assert TEXT in record(folder, recording=Recording.FULL).model_dump_json()


def test_a_spec_may_ask_for_a_full_record(folder: Path) -> None:
    recorded = record(folder, more=f"{MORE}\nrecord: full")

    assert recorded.recording is Recording.FULL
    assert all(step.event_json and step.command_json for step in recorded.steps)


def test_a_request_may_ask_for_digests_where_the_spec_asks_for_more(folder: Path) -> None:
    recorded = record(folder, recording=Recording.DIGESTS, more=f"{MORE}\nrecord: full")

    assert recorded.recording is Recording.DIGESTS


def test_beyond_journal_bytes_max_there_are_digests(folder: Path) -> None:
    recorded = record(folder, recording=Recording.FULL, journal_bytes_max=150)

    assert [step.event_json is not None for step in recorded.steps] == [
        True,  # open
        False,  # slice
        False,  # emit
        True,  # infer, which is dear
        False,  # close
        False,  # embed
    ]
    assert again_with_files(recorded, folder).end is End.SAME


def test_a_document_edited_by_hand_is_refused(folder: Path) -> None:
    data = dump_json(record(folder, recording=Recording.FULL)).replace(b"secret", b"sacred")

    with pytest.raises(OperatorError, match=r"case\.json: step 2 does not have its stated digest"):
        read_recorded_job(data, "case.json")


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"format": 2}'])
def test_what_is_no_document_is_refused(data: bytes) -> None:
    with pytest.raises(OperatorError, match=r"case\.json"):
        read_recorded_job(data, "case.json")
