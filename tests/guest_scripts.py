"""Scripts of guests that many tests run."""

from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json


def echo(_guest: ScriptedGuest, value: Json) -> Commands:
    """Give the input back."""
    yield {"cmd": "done", "result": value}


def report_and_echo(_guest: ScriptedGuest, value: Json) -> Commands:
    """Report once, and give the input back."""
    yield {"cmd": "emit", "progress": {"step": 1}}
    yield {"cmd": "done", "result": value}
