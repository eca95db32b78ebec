"""What a callback is sent: a small message about the end of a job, signed after Standard Webhooks.

The form is that of https://www.standardwebhooks.com. The result is not in it: it may be large, and
what a job found stays on this machine until somebody with a right to it asks for it.
"""

import base64
import binascii
import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from standardwebhooks import Webhook

from cuttlebone.errors import OperatorError
from cuttlebone.job.job import Job
from cuttlebone_abi import Completed, Json, dump_json

SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # what secrets begin with
SECRET_BYTES: Final = (24, 64)
"""The fewest and the most random bytes of a secret."""
SECRETS_MAX: Final = 4
_FILE_BYTES_MAX: Final = 4096
_NEW_SECRET_BYTES: Final = 32


class Signer:
    """Signs messages with every secret of the host, so that a secret can be replaced. Immutable."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._webhooks = [Webhook(secret) for secret in secrets]

    def headers(self, message_id: str, body: bytes, at: datetime) -> dict[str, str]:
        """The headers that go with a body; `at` is when it is sent."""
        text = body.decode()
        return {
            "Content-Type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": " ".join(
                webhook.sign(message_id, at.astimezone(UTC), text) for webhook in self._webhooks
            ),
        }


def message_body(job: Job) -> bytes:
    """Write the message about a final job; the same at each attempt."""
    envelope = job.envelope
    if envelope is None or job.finished_at is None:
        raise AssertionError(f"the job {job.id} is not final")
    error = None if isinstance(envelope, Completed) else envelope.error.code
    data: dict[str, Json] = {
        "id": job.id,
        "spec": job.spec,
        "status": job.status,
        "attempt": job.attempt,
        "labels": dict(job.labels),
        "created_at": _text(job.created_at),
        "finished_at": _text(job.finished_at),
        "error_code": error,
        "usage": envelope.usage.model_dump(mode="json"),
    }
    return dump_json(
        {"type": f"job.{job.status}", "timestamp": _text(job.finished_at), "data": data}
    )


def read_secrets(path: Path) -> list[str]:
    """Read a file with one secret a line; raise OperatorError if it is not fit or others may read it."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(_FILE_BYTES_MAX).decode("ascii", "replace")
    except OSError as error:
        raise OperatorError(
            f"the secrets of callbacks {path} cannot be read: {error.strerror}; "
            "see `callback_secret_file`"
        ) from None
    if mode & 0o077:
        raise OperatorError(f"others may read the secrets of callbacks: chmod 600 {path}")
    found = text.split()
    if not 1 <= len(found) <= SECRETS_MAX or not all(map(_is_secret, found)):
        raise OperatorError(
            f"{path} should have 1 to {SECRETS_MAX} lines, each `{SECRET_PREFIX}` and base64 of "
            f"{SECRET_BYTES[0]} to {SECRET_BYTES[1]} random bytes"
        )
    return found


def own_secrets(path: Path) -> list[str]:
    """Read the file, after making it with a new secret if there is none; raise OperatorError."""
    new = SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_NEW_SECRET_BYTES)).decode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return read_secrets(path)
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}") from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(new + "\n")
    return [new]


def _is_secret(text: str) -> bool:
    if not text.startswith(SECRET_PREFIX):
        return False
    try:
        size = len(base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True))
    except binascii.Error:
        return False
    return SECRET_BYTES[0] <= size <= SECRET_BYTES[1]


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
