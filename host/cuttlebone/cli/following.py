"""A job of a running host followed to its end."""

from contextlib import closing

from cuttlebone.cli.watching import EventView
from cuttlebone.client import Client
from cuttlebone_abi import Envelope


def follow(client: Client, job_id: str, view: EventView) -> Envelope:
    """Show the events of a job as they come and return its envelope; raise Refused, Unreachable."""
    with closing(view):
        for event in client.events(job_id):
            view.show(event.kind, event.data)
    return client.result(job_id)
