"""The HTTP API: routes over the services of a host, and the server that runs them."""

from cuttlebone.api.app import create_app
from cuttlebone.api.server import HttpServer
from cuttlebone.api.sockets import listen, listen_unix

__all__ = ["HttpServer", "create_app", "listen", "listen_unix"]
