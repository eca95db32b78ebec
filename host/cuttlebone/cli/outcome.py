"""Errors to exit statuses: the one place that knows how each ends a command."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from cuttlebone.cli.output import complain
from cuttlebone.cli.statuses import ExitStatus
from cuttlebone.client import Refused, Unreachable
from cuttlebone.errors import BlockRefused, CallerError, OperatorError
from cuttlebone_abi import Cancelled, Completed, Envelope, Failed


@contextmanager
def reporting(*, as_json: bool) -> Iterator[None]:
    """Turn the errors that a person can act on into a message and an exit status."""
    try:
        yield
    except OperatorError as error:
        complain("operator", str(error), as_json=as_json)
        raise typer.Exit(ExitStatus.REFUSED) from None
    except (CallerError, Refused) as error:
        faults = [(fault.pointer, fault.message) for fault in error.faults]
        complain(error.code, error.message, faults, as_json=as_json)
        raise typer.Exit(ExitStatus.REFUSED) from None
    except BlockRefused as error:
        message = "this is no usable block:" + "".join(f"\n  - {fault}" for fault in error.faults)
        complain("block_refused", message, as_json=as_json)
        raise typer.Exit(ExitStatus.FAILED) from None
    except Unreachable as error:
        complain("unreachable", str(error), as_json=as_json)
        raise typer.Exit(ExitStatus.UNREACHABLE) from None


def status_of(envelope: Envelope) -> ExitStatus:
    """Return the exit status that says how a job ended."""
    match envelope:
        case Completed():
            return ExitStatus.DONE
        case Failed():
            return ExitStatus.FAILED
        case Cancelled():
            return ExitStatus.CANCELLED
