"""Roles to endpoints: what the host serves under which name."""

from collections.abc import Mapping

from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.endpoints.memory import ModelMemory
from cuttlebone.errors import CommandError
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode


class EndpointDirectory:
    """The endpoints of a host by role. Immutable; its owner starts and stops them through it."""

    def __init__(
        self,
        roles: Mapping[str, Endpoint],
        *,
        files: Mapping[str, str] | None = None,
        memory: ModelMemory | None = None,
    ) -> None:
        """Take the endpoints that something owns from now on.

        `files` are the model files of roles, as the operator called them; `memory` is what bounds
        those endpoints that load on demand.
        """
        self.roles = dict(sorted(roles.items()))
        self.endpoints = tuple(dict.fromkeys(self.roles.values()))
        """Each once, however many roles it serves."""
        self._files = dict(files or {})
        self._memory = memory

    def endpoint(self, role: str) -> Endpoint:
        """Where generations of `role` run; raise CommandError (model_load_failed) if nowhere."""
        endpoint = self.roles.get(role)
        if endpoint is None:
            shown = printable(role)
            raise CommandError(
                ErrorCode.MODEL_LOAD_FAILED,
                f"no model is served as {shown!r}; start the host with --model {shown}=FILE.gguf",
            )
        return endpoint

    def file(self, role: str) -> str:
        """What the operator called the model of a role that is served."""
        return self._files.get(role, self.roles[role].name)

    def start(self) -> None:
        """Begin to load every model, or to wait for the first request to it."""
        for endpoint in self.endpoints:
            endpoint.start()

    def stop(self) -> None:
        """End every generation and free every model."""
        if self._memory is not None:
            self._memory.close()
        for endpoint in self.endpoints:
            endpoint.stop()
