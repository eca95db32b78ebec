"""Real hosts behind a real HTTP server on a free loopback port, with guests that are Python scripts."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from bounds import scaled
from cuttlebone.access import Authenticator
from cuttlebone.api import HttpServer, create_app, listen
from cuttlebone.api.app_state import state_of
from cuttlebone.api.connection_limits import ConnectionLimits
from cuttlebone.api.long_poll import WAIT_S_MAX
from cuttlebone.api.subscribers import Subscribers
from cuttlebone.assembly import Modules
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.job.host_time import HostTime
from cuttlebone.job.job import TENANT, JobKey
from cuttlebone.service.host import Host
from cuttlebone.testing import Commands, Script, ScriptedGuest
from cuttlebone_abi import Json, Signature
from guest_scripts import report_and_echo
from hosts import scripted_host

BOUND_S: Final = scaled(20.0)
BODY_BYTES_MAX: Final = 4096
VERSION: Final = "1.2.3"


def say(_guest: ScriptedGuest, value: Json) -> Commands:
    """Emit each item of the input."""
    for item in value:
        yield {"cmd": "emit", "progress": item}
    yield {"cmd": "done", "result": len(value)}


def spin(guest: ScriptedGuest, _value: Json) -> Commands:
    """Run until it is stopped."""
    yield {"cmd": "emit", "progress": "spinning"}
    guest.spin()


def give_up(_guest: ScriptedGuest, _value: Json) -> Commands:
    """Fail."""
    yield {"cmd": "fail", "code": "no_luck", "message": "it was not my day"}


SCRIPTS: Final[Mapping[str, Script]] = {
    "echo": report_and_echo,
    "say": say,
    "spin": spin,
    "give-up": give_up,
}


class Gate:
    """A script that runs until the test opens it. Owned by one test."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def script(self, _guest: ScriptedGuest, value: Json) -> Commands:
        """Emit, wait, give the input back."""
        yield {"cmd": "emit", "progress": "waiting"}
        assert self._opened.wait(BOUND_S), "the test never opened the gate"
        yield {"cmd": "emit", "progress": "through"}
        yield {"cmd": "done", "result": value}

    def open(self) -> None:
        """Let every job go on."""
        self._opened.set()


@dataclass(frozen=True, slots=True)
class Api:
    """A host that is served, and a client of it."""

    host: Host
    server: HttpServer
    subscribers: Subscribers
    http: httpx.Client

    def followed_by(self, count: int) -> None:
        """Wait until `count` clients wait for jobs or stream their events."""
        rounds = 2_000
        for _ in range(rounds):
            if len(self.subscribers) == count:
                return
            self.http.get("/healthz")  # a round trip lets the event loop turn
        raise AssertionError(f"{len(self.subscribers)} follow after {rounds} requests")

    @property
    def address(self) -> tuple[str, int]:
        """Where the server listens."""
        url = httpx.URL(self.server.url)
        assert url.port is not None
        return url.host, url.port

    def submit(self, spec: str, value: Json = None, **more: Json) -> dict[str, Any]:
        """Submit a job that has to be accepted; return its resource."""
        answer = self.http.post("/v1/jobs", json={"spec": spec, "input": value, **more})
        assert answer.status_code == 202, answer.text
        job: dict[str, Any] = answer.json()
        return job

    def ended(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Wait for the end of a job; return its resource."""
        answer = self.http.get(job["links"]["self"], params={"wait": min(BOUND_S, WAIT_S_MAX)})
        ended: dict[str, Any] = answer.json()
        assert ended["envelope"] is not None, ended
        return ended

    def emitted(self, job: Mapping[str, Any], progress: Json, tenant: str = TENANT) -> None:
        """Wait until the block of a job has emitted `progress`."""
        changed = threading.Event()
        key = JobKey(tenant, job["id"])
        with self.host.jobs.watch(key, changed.set):
            while self.host.jobs.get(key).progress != progress:
                assert changed.wait(BOUND_S), f"the job never emitted {progress!r}"
                changed.clear()


@contextmanager
def served(
    folder: Path,
    scripts: Mapping[str, Script] = SCRIPTS,
    *,
    endpoints: EndpointDirectory | None = None,
    more: str = "",
    signature: Signature | None = None,
    on_token: Callable[[str], bool] | None = None,
    port: int = 0,
    authenticator: Authenticator | None = None,
    body_bytes_max: int = BODY_BYTES_MAX,
    limits: ConnectionLimits | None = None,
    sandbox: Modules | None = None,
    time: HostTime | None = None,
    **settings: object,
) -> Iterator[Api]:
    """Serve a host over HTTP while the body runs."""
    host_of = scripted_host(
        folder,
        scripts,
        endpoints=endpoints,
        more=more,
        signature=signature,
        on_token=on_token,
        sandbox=sandbox,
        time=time,
        body_bytes_max=body_bytes_max,
        **settings,
    )
    with host_of as host, listen("127.0.0.1", port) as listener:
        app = create_app(
            host,
            version=VERSION,
            authenticator=authenticator,
            limits=limits,
        )
        server = HttpServer(app, listener, grace_s=2)
        # Nothing is encrypted here, and reading all certificates of the machine takes its time.
        client = httpx.Client(
            base_url=server.url,
            timeout=BOUND_S * 2,
            verify=False,
            limits=httpx.Limits(max_connections=None),
        )
        with server, client as http:
            yield Api(host, server, state_of(app).subscribers, http)
