"""Looks at everything that a host needs in order to run as it is set up, and changes nothing."""

import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from cuttlebone.access import TokenFile
from cuttlebone.api.connection_limits import connections_possible
from cuttlebone.callbacks.message import read_secrets
from cuttlebone.callbacks.opening import SECRET_FILE
from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.errors import OperatorError
from cuttlebone.inference.gguf import read_header
from cuttlebone.inference.loading import INSTALL, missing_modules
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Isolation, Settings
from cuttlebone.specs.catalog import Catalog, spec_files_in
from cuttlebone.store.sqlite.reading import FILE_NAME
from cuttlebone.store.sqlite.schema import SCHEMA_VERSION, connect
from cuttlebone.text.addresses import address, is_loopback

DISK_BYTES_MIN: Final = 1 << 30
"""Less free space than this is worth a word: a full disk ends the accepting of jobs."""
_PACKAGES: Final = ("cuttlebone", "wasmtime", "llama-cpp-python", "llguidance")


class Severity(StrEnum):
    """What is to be done about a finding."""

    FINE = "fine"
    NOTE = "note"
    """Good to know. The host runs as it is set up."""
    MEND = "mend"
    """The host would not start, would not serve all, or is open to others."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at."""

    area: str
    verdict: Severity
    what: str
    advice: str = ""
    """What to do."""


def diagnose(settings: Settings) -> Iterator[Diagnosis]:
    """Look at one thing after the other. `settings.state` is None for a host that keeps nothing."""
    yield _versions()
    with Sandbox(isolation=_tried(settings.isolation)) as sandbox:
        yield from _isolation(settings.isolation, sandbox)
        yield from _specs(settings, sandbox)
    yield from _models(settings)
    yield from _folder("cache folder", settings.cache_folder)
    if settings.state is None:
        yield Diagnosis(
            "state folder", Severity.NOTE, "none: jobs end with the host", "give --state DIR"
        )
    else:
        yield from _folder("state folder", settings.state)
        yield from _store(settings.state)
    yield _access(settings)
    yield _connections(settings.connections_max)
    yield from _callbacks(settings)


def _versions() -> Diagnosis:
    found = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    found += [f"{name} {_version(name)}" for name in _PACKAGES]
    return Diagnosis("versions", Severity.FINE, ", ".join(found))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


def _tried(isolation: Isolation) -> Isolation:
    """Ask for what there is: with `require` the sandbox would stop at the first thing missing."""
    return Isolation.PROCESS if isolation is Isolation.REQUIRE else isolation


def _isolation(wanted: Isolation, sandbox: Sandbox) -> Iterator[Diagnosis]:
    area = "isolation"
    if wanted is Isolation.THREAD:
        yield Diagnosis(
            area, Severity.NOTE, "guests run in threads of the host",
            "leave `isolation: thread` out unless every block is trusted",
        )  # fmt: skip
        return
    for layer, missing in sandbox.layers.items():
        if missing is None:
            yield Diagnosis(area, Severity.FINE, f"{layer} is on")
        else:
            yield Diagnosis(
                area,
                Severity.MEND if wanted is Isolation.REQUIRE else Severity.NOTE,
                f"{layer} is off: {missing}",
                "use a kernel that has it; a container may have to be allowed to use it",
            )


def _specs(settings: Settings, sandbox: Sandbox) -> Iterator[Diagnosis]:
    area = "specs"
    catalog = Catalog(
        lambda: spec_files_in(settings.specs), admit=sandbox.admit, limits_max=settings.limits_max
    )
    try:
        catalog.refresh()
    except OperatorError as error:
        yield Diagnosis(area, Severity.MEND, str(error), "give --specs FOLDER")
        return
    for name, loaded in catalog.specs().items():
        role = loaded.spec.model
        if role is None or role in settings.models:
            yield Diagnosis(area, Severity.FINE, f"{name} can be served")
        else:
            yield Diagnosis(
                area, Severity.MEND, f"{name} asks for the model `{role}`, which is not served",
                f"give --model {role}=FILE.gguf",
            )  # fmt: skip
    for fault in catalog.faults().values():
        yield Diagnosis(
            area, Severity.MEND, fault, "mend the file; `cuttlebone spec check` tells more"
        )
    if not catalog.specs() and not catalog.faults():
        yield Diagnosis(
            area, Severity.NOTE, f"there are none in {settings.specs}", "add a spec file"
        )


def _models(settings: Settings) -> Iterator[Diagnosis]:
    if missing := missing_modules():
        yield Diagnosis(
            "models", Severity.MEND if settings.models else Severity.NOTE,
            f"no model can run in this process: {', '.join(missing)} is not installed", INSTALL,
        )  # fmt: skip
    for role, path in settings.models.items():
        try:
            header = read_header(path)
        except OperatorError as error:
            yield Diagnosis("models", Severity.MEND, f"{role}: {error}", "give another file")
        else:
            size = header.size_bytes >> 20
            yield Diagnosis("models", Severity.FINE, f"{role}: {path.name}, {size} MiB")


def _folder(area: str, folder: Path) -> Iterator[Diagnosis]:
    """Whether a folder is there, or can be made, is writable, for one user alone, and has space."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield Diagnosis(
            area, Severity.MEND, f"{there} cannot be written",
            "give another folder, or run the host as the user that owns it",
        )  # fmt: skip
        return
    if there is folder and folder.stat().st_mode & 0o077:
        yield Diagnosis(area, Severity.MEND, f"others may enter {folder}", f"chmod 700 {folder}")
    else:
        made = "" if there is folder else " will be made"
        yield Diagnosis(area, Severity.FINE, f"{folder}{made}")
    free = shutil.disk_usage(there).free
    if free < DISK_BYTES_MIN:
        yield Diagnosis(
            area, Severity.MEND, f"{free >> 20} MiB of disk are left for {folder}",
            "make room; while the disk is full no job is accepted",
        )  # fmt: skip


def _store(folder: Path) -> Iterator[Diagnosis]:
    path, area = folder / FILE_NAME, "job store"
    if not path.exists():
        return
    try:
        with closing(connect(path, read_only=True)) as connection:
            (schema,) = connection.execute("pragma user_version").fetchone()
            (jobs,) = connection.execute("select count(*) from jobs").fetchone()
    except sqlite3.Error as error:
        yield Diagnosis(
            area, Severity.MEND, f"{path} cannot be read: {error}",
            "put a backup in its place, or move it away to start with an empty store",
        )  # fmt: skip
        return
    if schema > SCHEMA_VERSION:
        yield Diagnosis(
            area, Severity.MEND, f"{path} was written by a newer host", "install that version"
        )
    else:
        yield Diagnosis(area, Severity.FINE, f"{jobs} jobs, schema version {schema}")


def _access(settings: Settings) -> Diagnosis:
    area, tokens = "access", None
    if settings.state is not None:
        try:
            tokens = TokenFile(settings.state).tokens()
        except OperatorError as error:
            return Diagnosis(area, Severity.MEND, str(error), "see `cuttlebone token`")
    if tokens is not None:
        return Diagnosis(area, Severity.FINE, f"{len(tokens)} tokens; nobody comes in without one")
    parsed = address(settings.host)
    if settings.socket is None and (parsed is None or not is_loopback(parsed)):
        return Diagnosis(
            area, Severity.MEND, f"{settings.host} can be reached from elsewhere, without a token",
            "make one with `cuttlebone token add NAME`, or listen on 127.0.0.1",
        )  # fmt: skip
    return Diagnosis(
        area, Severity.NOTE, "no token is needed: every program of this machine may use the host",
        "`cuttlebone token add NAME` makes one",
    )  # fmt: skip


def _connections(wanted: int) -> Diagnosis:
    area, possible = "connections", connections_possible(wanted)
    if possible == wanted:
        return Diagnosis(area, Severity.FINE, f"{wanted} at once can be served")
    return Diagnosis(
        area, Severity.MEND,
        f"only {possible} at once can be served, not {wanted}: the limit of open files is low",
        "raise it (`ulimit -Hn`, under systemd `LimitNOFILE=`), or lower `connections_max`",
    )  # fmt: skip


def _callbacks(settings: Settings) -> Iterator[Diagnosis]:
    if not settings.callback_hosts:
        return
    area, path = "callbacks", settings.callback_secret_file
    if path is None and settings.state is not None and (settings.state / SECRET_FILE).exists():
        path = settings.state / SECRET_FILE
    try:
        CallbackPolicy(settings.callback_hosts)
        if path is not None:
            read_secrets(path)
    except OperatorError as error:
        yield Diagnosis(area, Severity.MEND, str(error), "mend the settings")
        return
    if path is None and settings.state is None:
        yield Diagnosis(
            area, Severity.MEND, "there is no secret to sign with", "set `callback_secret_file`"
        )
    else:
        yield Diagnosis(area, Severity.FINE, f"{', '.join(settings.callback_hosts)} may be called")
