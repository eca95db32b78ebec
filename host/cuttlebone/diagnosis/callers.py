"""Who may come in, how many at once, and who may be called back."""

from collections.abc import Iterator

from cuttlebone.access import TokenFile
from cuttlebone.api.connection_limits import connections_possible
from cuttlebone.callbacks.message import read_secrets
from cuttlebone.callbacks.opening import SECRET_FILE
from cuttlebone.callbacks.policy import CallbackPolicy
from cuttlebone.diagnosis.diagnosis import Diagnosis, fine, mend, note
from cuttlebone.errors import OperatorError
from cuttlebone.settings import Settings
from cuttlebone.text.addresses import address, is_loopback


def access(settings: Settings) -> Diagnosis:
    """Whether everybody who can reach the host needs a token."""
    area, tokens = "access", None
    if settings.state is not None:
        try:
            tokens = TokenFile(settings.state).tokens()
        except OperatorError as error:
            return mend(area, str(error), "see `cuttlebone token`")
    if tokens is not None:
        return fine(area, f"{len(tokens)} tokens; nobody comes in without one")
    parsed = address(settings.host)
    if settings.socket is None and (parsed is None or not is_loopback(parsed)):
        open_to_all = f"{settings.host} can be reached from elsewhere, without a token"
        advice = "make one with `cuttlebone token add NAME`, or listen on 127.0.0.1"
        return mend(area, open_to_all, advice)
    return note(
        area,
        "no token is needed: every program of this machine may use the host",
        "`cuttlebone token add NAME` makes one",
    )


def connections(wanted: int) -> Diagnosis:
    """Whether the process may open as many files as its connections need."""
    area, possible = "connections", connections_possible(wanted)
    if possible == wanted:
        return fine(area, f"{wanted} at once can be served")
    return mend(
        area,
        f"only {possible} at once can be served, not {wanted}: the limit of open files is low",
        "raise it (`ulimit -Hn`, under systemd `LimitNOFILE=`), or lower `connections_max`",
    )


def callbacks(settings: Settings) -> Iterator[Diagnosis]:
    """Whether the hosts that may be called are some, and there is a secret to sign with."""
    if not settings.callback_hosts:
        return
    area, path = "callbacks", settings.callback_secret_file
    if path is None and settings.state is not None and (settings.state / SECRET_FILE).exists():
        path = settings.state / SECRET_FILE
    try:
        CallbackPolicy(settings.callback_hosts)
        if path is not None:
            read_secrets(path)
    except OperatorError as error:
        yield mend(area, str(error), "mend the settings")
        return
    if path is None and settings.state is None:
        yield mend(area, "there is no secret to sign with", "set `callback_secret_file`")
    else:
        yield fine(area, f"{', '.join(settings.callback_hosts)} may be called")
