"""How a host says that it is: ready only if everything works that its operator has set up."""

import pytest

from cuttlebone.endpoints.directory import EndpointDirectory
from cuttlebone.generation.state import Phase, State
from cuttlebone.metrics import HostMetrics
from cuttlebone.service.host_status import HostStatus
from cuttlebone.testing.scripted_endpoint import ScriptedEndpoint


def host_with(*states: State) -> HostStatus:
    """A host with a role for each state: `role0`, `role1`."""
    roles = {f"role{i}": ScriptedEndpoint(state=state) for i, state in enumerate(states)}
    return HostStatus(EndpointDirectory(roles), HostMetrics(), {"process": None})


@pytest.mark.parametrize("state", [Phase.READY, Phase.UNLOADED])
def test_a_host_whose_models_are_as_they_should_be_is_ready(state: Phase) -> None:
    assert host_with(State(state)).readiness().ready
    assert host_with().readiness().ready


@pytest.mark.parametrize("state", [Phase.LOADING, Phase.FAILED, Phase.STOPPED])
def test_a_host_is_not_ready_while_a_model_is_not(state: Phase) -> None:
    found = host_with(State(Phase.READY), State(state)).readiness()

    assert not found.ready
    words = {Phase.FAILED: "could not be loaded"}.get(state, f"is {state}")
    assert found.reasons == (f"the model `role1` {words}",)


def test_a_model_that_could_not_be_loaded_on_demand_is_a_reason_too() -> None:
    found = host_with(State(Phase.UNLOADED, "no room")).readiness()

    assert found.reasons == ("the model `role0` could not be loaded: no room",)


def test_the_reason_and_how_far_a_load_is_are_told() -> None:
    found = host_with(
        State(Phase.FAILED, "No such file or directory"), State(Phase.LOADING, progress=0.5)
    ).readiness()

    assert found.reasons == (
        "the model `role0` could not be loaded: No such file or directory",
        "the model `role1` is loading, 50% so far",
    )


def test_a_host_that_can_keep_nothing_is_not_ready_and_is_again_once_it_can() -> None:
    troubles: list[str | None] = ["disk is full", None]
    status = HostStatus(EndpointDirectory({}), HostMetrics(), {}, lambda: troubles.pop(0))

    found = [status.readiness(), status.readiness()]

    assert [one.ready for one in found] == [False, True]
    assert found[0].reasons == ("the job store cannot be written: disk is full",)


def test_the_layers_around_a_guest_are_told() -> None:
    assert host_with().readiness().layers == {"process": None}


def test_every_model_is_told() -> None:
    found = host_with(State(Phase.READY), State(Phase.LOADING, progress=0.5)).models()

    assert [(one.role, one.state, one.progress) for one in found] == [
        ("role0", Phase.READY, None),
        ("role1", Phase.LOADING, 0.5),
    ]
