"""The HTTP API: routes over the job service, and the server that runs them. Knows jobs, nothing below."""

from cuttlebone.api.app import create_app
from cuttlebone.api.listening import listen, listen_unix
from cuttlebone.api.server import HttpServer

__all__ = ["HttpServer", "create_app", "listen", "listen_unix"]
