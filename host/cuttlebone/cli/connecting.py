"""The client of a command: for the host that it is told of, with the token of the environment."""

import os
from typing import Final

from cuttlebone.client import Client

TOKEN_VARIABLE: Final = "CUTTLEBONE_TOKEN"  # noqa: S105  # a name, not a token


def client_of(url: str) -> Client:
    """Connect to a host.

    The token comes from the environment alone: arguments of a command are seen by all users of a
    machine.
    """
    return Client(url, token=os.environ.get(TOKEN_VARIABLE, "").strip() or None)
