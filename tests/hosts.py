"""Small hosts for tests: real everything, but guests that are Python scripts and models as given."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bounds import scaled
from cuttlebone.assembly import Modules, open_host_with
from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.job.host_time import HostTime
from cuttlebone.job.job import Job
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from cuttlebone.testing import Script, ScriptedModel, ScriptedSandbox
from cuttlebone_abi import Signature

BOUND_S = scaled(20.0)
"""How long a test waits for what a host has to do."""
SPEC = "name: {name}\ndescription: Runs the script {name}.\nblock: {name}.wasm\n{more}"


def write_spec(folder: Path, name: str, more: str = "") -> Path:
    """Write a spec whose block runs the script of the same name."""
    (folder / f"{name}.wasm").write_text(name)
    path = folder / f"{name}.yaml"
    path.write_text(SPEC.format(name=name, more=more))
    return path


@contextmanager
def scripted_host(
    folder: Path,
    scripts: Mapping[str, Script],
    *,
    endpoints: EndpointDirectory | None = None,
    more: str = "",
    signature: Signature | None = None,
    on_token: Callable[[str], bool] | None = None,
    sandbox: Modules | None = None,
    time: HostTime | None = None,
    **settings: object,
) -> Iterator[Host]:
    """Run a host that serves one spec for each script, from `folder`."""
    for name in scripts:
        write_spec(folder, name, more)
    stated = Settings(specs=folder, grace_s=0.2).model_copy(update=settings)
    scripted = ScriptedSandbox(scripts, signature=signature, on_token=on_token)
    directory = endpoints or EndpointDirectory({})
    with open_host_with(stated, sandbox or scripted, directory, time=time) as host:
        yield host


def until(host: Host, job: Job, condition: Callable[[Job], bool], bound_s: float = BOUND_S) -> Job:
    """Wait for a condition on a job, woken by its event log."""
    changed, deadline = threading.Event(), time.monotonic() + bound_s
    with host.jobs.watch(job.key, changed.set):
        while not condition(found := host.jobs.get(job.key)):
            assert changed.wait(deadline - time.monotonic()), f"the job stayed {found.status}"
            changed.clear()
    return found


def ended(host: Host, job: Job, bound_s: float = BOUND_S) -> Job:
    """Wait for the end of a job."""
    return until(host, job, lambda one: one.status.final, bound_s)


def serving(role: str, model: ScriptedModel) -> EndpointDirectory:
    """Serve a scripted model under a role."""
    return EndpointDirectory({role: LocalEndpoint(lambda _report: model, name=role)})
