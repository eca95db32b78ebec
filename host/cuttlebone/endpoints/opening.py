"""Endpoints made of model files, as a host is set up. Nothing is loaded before they are started."""

from functools import partial
from pathlib import Path

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.local import LocalEndpoint
from cuttlebone.endpoints.memory import ModelMemory
from cuttlebone.inference.loading import kv_bytes_each, loader, memory_needed
from cuttlebone.settings import Settings


def directory_of(settings: Settings) -> EndpointDirectory:
    """The endpoints of a host, one for all roles that name the same file; raises OperatorError."""
    bound = settings.models_memory_bytes
    memory = None if bound is None else ModelMemory(bound)
    sharing: dict[Path, list[str]] = {}
    for role, path in sorted(settings.models.items()):
        sharing.setdefault(path.resolve(), []).append(role)
    kv_bytes_max = kv_bytes_each(settings, models=len(sharing))
    endpoints = {
        file: endpoint_of_file(
            settings.models[roles[0]],
            settings,
            name="/".join(roles),
            memory=memory,
            kv_bytes_max=kv_bytes_max,
        )
        for file, roles in sharing.items()
    }
    if memory is not None:
        memory.watch(endpoints.values())
    return EndpointDirectory(
        {role: endpoints[path.resolve()] for role, path in settings.models.items()},
        files={role: path.name for role, path in settings.models.items()},
        memory=memory,
    )


def endpoint_of_file(
    file: Path,
    settings: Settings,
    *,
    name: str = "model",
    memory: ModelMemory | None = None,
    kv_bytes_max: int | None = None,
) -> LocalEndpoint:
    """An endpoint for a model file, which within a bound on `memory` loads on demand.

    Its sequences have `kv_bytes_max` of memory; None is all that the settings give. Raises OperatorError without the extra that runs models in this process.
    """
    if kv_bytes_max is None:
        kv_bytes_max = kv_bytes_each(settings, models=1)
    load = loader(file, settings, kv_bytes_max)
    if memory is None:
        return LocalEndpoint(load, name=name)
    size_of = partial(memory_needed, file, settings, kv_bytes_max)
    return LocalEndpoint(
        lambda report: memory.load(name, size_of, partial(load, report)),
        name=name,
        on_demand=True,
        closed=partial(memory.release, name),
    )
