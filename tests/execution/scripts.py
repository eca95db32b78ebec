"""Scripts in place of guests, run by the step loop."""

from cuttlebone.execution.runner import run_job
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.testing import Commands, Script, ScriptedGuest
from cuttlebone_abi import (
    Envelope,
    Failed,
    Json,
    Signature,
    dump_json,
)
from job_scopes import ScopeOf


def run(script: Script, scope_of: ScopeOf, value: Json = None, **limits: int) -> Envelope:
    guest, scope = ScriptedGuest(script), scope_of(**limits)
    return run_job(guest, scope, IoSchemas(Signature()), dump_json(value))


def failure(envelope: Envelope) -> tuple[str, str]:
    assert isinstance(envelope, Failed)
    return envelope.error.code, envelope.error.message


def says(*commands: Json | bytes) -> Script:
    """A guest that returns these commands, whatever it is told."""

    def script(_guest: ScriptedGuest, _value: Json) -> Commands:
        for command in commands:  # noqa: UP028  # `yield from` cannot be sent events
            yield command

    return script


def spin(guest: ScriptedGuest, _value: Json) -> Commands:
    """Say so, and go on for ever."""
    yield {"cmd": "emit", "progress": "spinning"}
    guest.spin()
