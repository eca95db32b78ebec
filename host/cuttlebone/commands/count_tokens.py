"""`count_tokens`: how much of the model's context a text takes, before anything is spent on it."""

import time
from typing import Final

from cuttlebone.commands.infer import granted_model, tell_if_loading, turns_of
from cuttlebone.commands.scope import JobScope
from cuttlebone.generation.request import GenerationRequest
from cuttlebone_abi import CountTokens, TokensCounted

LOOK_S: Final = 0.1
"""How often a job that waits for its model looks whether it was stopped."""


def carry_out_count_tokens(command: CountTokens, scope: JobScope) -> TokensCounted:
    """Count; raise CommandError, or JobError once the job is stopped."""
    model = granted_model(scope, "count_tokens")
    with scope.account.inferring(), scope.budget.waiting_for(_ModelWait()):
        counter = model.inference.counter(model.role, LOOK_S)
        if counter is None:
            tell_if_loading(scope, model)
        while counter is None:
            scope.budget.check()
            counter = model.inference.counter(model.role, LOOK_S)
    if command.messages is None:
        tokens = counter.count_text(command.text or "")
    else:
        tokens = counter.count(
            GenerationRequest(
                job=scope.job,
                tenant=scope.tenant,
                turns=turns_of(command.messages, model.defaults),
                raw_prompt=None,
                max_tokens=1,
                default_system=model.defaults.system.use != "none",
                check_wanted=scope.budget.check,
            )
        )
    return TokensCounted(tokens=tokens, context=counter.context_tokens)


class _ModelWait:
    """Waiting from now on."""

    def __init__(self) -> None:
        self._since_s = time.monotonic()

    @property
    def waited_s(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._since_s
