"""The rules of a manifest's engines: told apart by label and port, on loopback, without secrets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cuttlebone.bench.findings import Finding, finding
from cuttlebone.bench.secrets import looks_secret
from cuttlebone.text.addresses import address, is_loopback
from cuttlebone.text.json_values import Json, Path, shown

_UNIQUE: Final = ("label", "port")


def engine_errors(engines: Sequence[Mapping[str, Json]]) -> Iterator[Finding]:
    """Give the errors of the engines, each of which has the shape of one."""
    for key in _UNIQUE:
        yield from _repeated(engines, key)
    for at, engine in enumerate(engines):
        yield from _host_errors(("engines", at, "host"), engine.get("host"))
        env = engine.get("env")
        yield from _env_errors(("engines", at, "env"), env if isinstance(env, dict) else {})


def _repeated(engines: Sequence[Mapping[str, Json]], key: str) -> Iterator[Finding]:
    first_at: dict[Json, int] = {}
    for at, engine in enumerate(engines):
        value = engine[key]
        if isinstance(value, str | int | float) and first_at.setdefault(value, at) != at:
            told = f"the {key} {shown(value)} is that of engine {first_at[value]} already"
            yield finding(("engines", at, key), f"{told}; give each engine its own")


def _host_errors(path: Path, host: Json) -> Iterator[Finding]:
    if isinstance(host, str):
        found = address(host)
        if found is None or not is_loopback(found):
            accepted = "give localhost, an address in 127.0.0.0/8 or ::1"
            yield finding(path, f"{shown(host)} is not a loopback address; {accepted}")


def _env_errors(path: Path, env: Mapping[str, Json]) -> Iterator[Finding]:
    for name, value in env.items():
        if isinstance(value, str) and looks_secret(name):
            told = f"{shown(name)} looks like a secret, and its value would stand in the manifest"
            yield finding((*path, name), f"{told}; give null, which inherits it from the caller")
