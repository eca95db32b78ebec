"""A fork server whose processes parse documents, with a parser that no document should be shown."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cuttlebone.locked_process.child import Child
from cuttlebone.locked_process.fork_server import ForkServer
from cuttlebone.locked_process.sealed_file import sealed_file
from cuttlebone.locked_process.spawn_request import SpawnRequest
from locked_process import toy_parser

TESTS = Path(__file__).parent.parent

Parse = Callable[..., Child]
"""`parse(document, request=…)`: a locked process that has the document."""


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    with pytest.MonkeyPatch.context() as environment:
        # A zygote imports what PYTHONPATH shows, not what pytest has added to this process.
        shown = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
        environment.setenv("PYTHONPATH", shown)
        server = ForkServer([toy_parser.__name__])
        yield server
        server.close()


@pytest.fixture
def parse(fork_server: ForkServer) -> Iterator[Parse]:
    children: list[Child] = []

    def spawn(document: bytes, request: SpawnRequest | None = None) -> Child:
        content = sealed_file(document)
        try:
            children.append(fork_server.spawn(request or toy_parser.parser_request(), content))
        finally:
            os.close(content)
        return children[-1]

    yield spawn
    for child in children:
        child.close()
