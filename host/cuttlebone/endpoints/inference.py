"""Generations for jobs and others: finds the endpoint of a role, and has each charged once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.endpoints.endpoint import Endpoint
from cuttlebone.errors import CommandError
from cuttlebone.generation.inference import Account, TokenCounter
from cuttlebone.generation.request import GenerationRequest
from cuttlebone.generation.state import Phase
from cuttlebone.generation.ticket import Generation
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode


@dataclass(frozen=True, slots=True)
class EndpointInference:
    """The `Inference` of a host. Immutable: all that ask share one."""

    endpoints: EndpointDirectory

    @contextmanager
    def open(self, role: str, request: GenerationRequest, account: Account) -> Iterator[Generation]:
        """Have one generation while the body runs; see `Inference`."""
        account.admit()
        endpoint = self.endpoints.endpoint(role)
        _check_carried(endpoint, request)
        generation = endpoint.submit(request)
        try:
            yield generation
        finally:
            generation.cancel()  # does nothing to one that has ended
            account.charge(generation.spent(role=role, endpoint=endpoint.name))

    def ready(self, role: str) -> bool:
        """Whether the endpoint of the role is."""
        endpoint = self.endpoints.roles.get(role)
        return endpoint is not None and endpoint.state.phase is Phase.READY

    def counter(self, role: str, timeout_s: float) -> TokenCounter | None:
        """What counts tokens as the endpoint of the role does; raise CommandError."""
        return self.endpoints.endpoint(role).counter(timeout_s)


def _check_carried(endpoint: Endpoint, request: GenerationRequest) -> None:
    """Refuse what the endpoint would have to pass over."""
    missing = sorted(request.fields - endpoint.capabilities.fields)
    if missing:
        names = ", ".join(f"`{field}`" for field in missing)
        raise CommandError(
            ErrorCode.UNSUPPORTED,
            f"infer: the endpoint {printable(endpoint.name)} does not serve {names}",
        )
