"""`emit`: the guest tells its watchers how far it is."""

from cuttlebone.commands.scope import JobScope
from cuttlebone_abi import Emit, Emitted, dump_json


def carry_out_emit(command: Emit, scope: JobScope) -> Emitted:
    """Pass a progress event on, within the limits of the job; raise CommandError."""
    scope.budget.spend_event(len(dump_json(command.progress)))
    scope.events.progress(command.progress)
    return Emitted()
