"""What a callback is sent, and the secrets that sign it."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cuttlebone.callbacks.message import Signer, message_body, own_secrets, read_secrets
from cuttlebone.errors import OperatorError
from cuttlebone.job.job import Job
from cuttlebone.job_options import Limits
from cuttlebone_abi import Completed, Failed, Failure, JobStatus, Usage

AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
USAGE = Usage(tokens_in=1, tokens_out=2, duration_ms=3, model="m")
KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
JOB = Job(
    id="a1",
    spec="echo",
    input=b'{"word":"private"}',
    limits=Limits(),
    labels={"team": "sepia"},
    created_at=AT,
    finished_at=AT,
    status=JobStatus.COMPLETED,
    envelope=Completed(result="private", usage=USAGE),
)


def test_a_message_says_how_a_job_ended_but_not_what_it_found() -> None:
    body = message_body(JOB)
    assert json.loads(body) == {
        "type": "job.completed",
        "timestamp": "2026-01-31T09:30:00Z",
        "data": {
            "id": "a1",
            "spec": "echo",
            "status": "completed",
            "attempt": 0,
            "labels": {"team": "sepia"},
            "created_at": "2026-01-31T09:30:00Z",
            "finished_at": "2026-01-31T09:30:00Z",
            "error_code": None,
            "usage": USAGE.model_dump(),
        },
    }
    assert b"private" not in body


def test_a_message_about_a_failure_has_its_code() -> None:
    failure = Failed(error=Failure(code="no_luck", message="private"), usage=USAGE)
    body = message_body(replace(JOB, status=JobStatus.FAILED, envelope=failure))
    assert json.loads(body)["data"]["error_code"] == "no_luck"
    assert b"private" not in body


def test_the_signature_is_that_of_standard_webhooks() -> None:
    headers = Signer([SECRET]).headers("message-1", b'{"a":1}', AT)
    signed = hmac.new(KEY, b'message-1.%d.{"a":1}' % int(AT.timestamp()), hashlib.sha256).digest()
    assert headers["webhook-id"] == "message-1"
    assert headers["webhook-timestamp"] == str(int(AT.timestamp()))
    assert headers["webhook-signature"] == "v1," + base64.b64encode(signed).decode()


def test_every_secret_signs_so_that_one_can_be_replaced() -> None:
    other = "whsec_" + base64.b64encode(bytes(24)).decode()
    both = Signer([SECRET, other]).headers("m", b"{}", AT)["webhook-signature"]
    alone = Signer([other]).headers("m", b"{}", AT)["webhook-signature"]
    assert both.split(" ")[1] == alone


def test_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    made = own_secrets(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert own_secrets(path) == made == read_secrets(path)


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        (SECRET, 0o640, "chmod 600"),
        ("", 0o600, "1 to 4 lines"),
        (f"{SECRET}\n" * 5, 0o600, "1 to 4 lines"),
        ("whsec_" + base64.b64encode(b"short").decode(), 0o600, "24 to 64 random bytes"),
        ("whsec_no base64!", 0o600, "24 to 64 random bytes"),
        (SECRET.removeprefix("whsec_"), 0o600, "24 to 64 random bytes"),
    ],
)
def test_a_file_that_is_not_fit_is_refused(
    tmp_path: Path, text: str, mode: int, reason: str
) -> None:
    path = tmp_path / "secret"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(OperatorError, match=reason):
        read_secrets(path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="callback_secret_file"):
        read_secrets(tmp_path / "none")
    with pytest.raises(OperatorError, match="cannot be written"):
        own_secrets(tmp_path / "none" / "secret")
