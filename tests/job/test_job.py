"""What a request for a job is told from another one by."""

import hashlib

from cuttlebone.job.job import Submission
from cuttlebone.job_options import Limits, Priority
from cuttlebone_abi import dump_json


def test_the_digest_of_a_request_is_that_of_all_it_asks_for_written_as_one_text() -> None:
    value = {"big": 2**70, "text": "é,[]"}
    asked = Submission(
        "echo", value, limits=Limits(steps=3), labels={"b": "2", "a": "1"}, ttl_s=5, job_id="mine"
    )
    labels = [["a", "1"], ["b", "2"]]
    whole = dump_json(["echo", value, {"steps": 3}, labels, Priority.BATCH, 5, None, None, None])

    assert asked.digest(dump_json(value)) == hashlib.sha256(whole).hexdigest()


def test_other_requests_have_other_digests() -> None:
    asked = [Submission("echo", 1), Submission("echo", 12), Submission("echo2", 1)]
    asked.append(Submission("echo", 1, record=None, expires_in_s=1))

    assert len({one.digest(dump_json(one.input)) for one in asked}) == len(asked)
