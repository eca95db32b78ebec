"""All that a host needs, looked at one after the other."""

import os
import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from cuttlebone.diagnosis.callers import access, callbacks, connections
from cuttlebone.diagnosis.diagnosis import Diagnosis, fine, mend, note
from cuttlebone.diagnosis.folders import folder, job_store, module_cache
from cuttlebone.diagnosis.work import guests, models, specs
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Isolation, Settings
from cuttlebone.settings.variables import unknown_variables
from cuttlebone.store.sqlite.inspection import SQLITE_VERSION

_PACKAGES: Final = ("cuttlebone", "wasmtime", "llama-cpp-python", "llguidance")


def diagnose(
    settings: Settings, *, variables: Iterable[str] = tuple(os.environ)
) -> Iterator[Diagnosis]:
    """Look at one thing after the other. `settings.state` is None for a host that keeps nothing.

    `variables` are the names of those in the environment.
    """
    yield _versions()
    for reason in unknown_variables(variables):
        yield mend("environment", reason, "mend its name, or take it away")
    with Sandbox(isolation=_tried(settings.isolation)) as sandbox:
        yield from guests(settings.isolation, sandbox)
        yield from specs(settings, sandbox)
    yield from models(settings)
    yield from folder("cache folder", settings.cache_folder)
    yield from module_cache(settings.cache_folder / "modules")
    if settings.state is None:
        yield note("state folder", "none: jobs end with the host", "give --state DIR")
    else:
        yield from folder("state folder", settings.state)
        yield from job_store(settings.state)
    yield access(settings)
    yield connections(settings.connections_max)
    yield from callbacks(settings)


def _versions() -> Diagnosis:
    found = [f"Python {platform.python_version()}", f"SQLite {SQLITE_VERSION}"]
    return fine("versions", ", ".join(found + [f"{name} {_version(name)}" for name in _PACKAGES]))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


def _tried(isolation: Isolation) -> Isolation:
    """Ask for what there is: with `require` the sandbox would stop at the first thing missing."""
    return Isolation.PROCESS if isolation is Isolation.REQUIRE else isolation
