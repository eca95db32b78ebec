"""Both stores against a dictionary: any sequence of calls, and for the durable one crashes in between."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from cuttlebone.store.memory import open_memory_stores
from cuttlebone.store.sqlite import open_sqlite_stores
from store.store_machine import StoreMachine

STEPS_SHORT, EXAMPLES_SHORT = 40, 25


STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda _folder: open_memory_stores(kept_max=1000),
    "durable": open_sqlite_stores,
}


@pytest.mark.parametrize("kind", STORES)
def test_any_sequence_of_calls_does_what_a_dictionary_does(
    kind: str, trials: Callable[[int], int]
) -> None:
    class Machine(StoreMachine):
        def __init__(self) -> None:
            super().__init__(STORES[kind])

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=trials(EXAMPLES_SHORT),
            stateful_step_count=STEPS_SHORT,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
