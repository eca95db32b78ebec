"""Names that a running host knows, for a shell that completes: asked quickly, and silent about failures.

Not with the client: reading its types alone takes longer than a person waits for a completion.
"""

import http.client
import json
import os
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, Final
from urllib.parse import urlsplit

from cuttlebone.text.addresses import DEFAULT_URL, with_scheme

ANSWER_S_MAX: Final = 1.0
ANSWER_BYTES_MAX: Final = 1 << 20
JOBS_MAX: Final = 50
"""The newest jobs, among which an id is looked for."""

_PLAIN: Final = re.compile(r"[\w.~=:/-]{1,200}")


def job_ids(url: str | None) -> Iterator[str]:
    """The ids of the newest jobs of a host, and the words for the newest one."""
    found = list(_of(_ask(url, f"/v1/jobs?limit={JOBS_MAX}"), "jobs", "id"))
    yield from [*found, "last"] if found else []


def spec_names(url: str | None) -> Iterator[str]:
    """The specs of a host."""
    return _of(_ask(url, "/v1/specs"), "specs", "name")


def role_beginnings(url: str | None) -> Iterable[str]:
    """The roles that a host serves, or that its specs ask for, as `ROLE=`."""
    served = _of(_ask(url, "/v1/models"), "models", "role")
    asked = _of(_ask(url, "/v1/specs"), "specs", "model")
    return sorted({f"{role}=" for role in (*served, *asked)})


def block_digests(url: str | None) -> Iterator[str]:
    """The blocks of a host."""
    return _of(_ask(url, "/v1/blocks"), "blocks", "digest")


def is_plain(name: str) -> bool:
    """Whether a name can be a word of a command line as it is: nothing in it that a shell would take up."""
    return _PLAIN.fullmatch(name) is not None


def _of(answer: Any, list_name: str, field: str) -> Iterator[str]:
    match answer:
        case dict():
            for one in answer.get(list_name) or ():
                match one:
                    case dict() if isinstance(one.get(field), str):
                        yield one[field]


def _ask(url: str | None, path: str) -> Any:
    """Give what a host answers; None for whatever it is that goes wrong."""
    stated = url or os.environ.get("CUTTLEBONE_URL") or DEFAULT_URL
    token = os.environ.get("CUTTLEBONE_TOKEN", "").strip()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with closing(_connection(stated)) as connection:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return json.loads(response.read(ANSWER_BYTES_MAX)) if response.status == 200 else None
    except (OSError, ValueError, http.client.HTTPException):
        return None


class _UnixConnection(http.client.HTTPConnection):
    """A connection to the host behind a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=ANSWER_S_MAX)
        self._path = path

    def connect(self) -> None:
        """Open the socket; it is closed with the connection."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_S_MAX)
        self.sock.connect(self._path)


def _connection(stated: str) -> http.client.HTTPConnection:
    if stated.startswith("unix:"):
        return _UnixConnection(stated.removeprefix("unix:"))
    parts = urlsplit(with_scheme(stated))
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=ANSWER_S_MAX)
