"""Fakes that ship with the host: guests and endpoints that are scripts, models that need no file."""

from cuttlebone.testing.guests import Commands, Script, ScriptedGuest, ScriptedSandbox
from cuttlebone.testing.models import FakeModel, FakeSampler
from cuttlebone.testing.scripted_endpoint import ScriptedEndpoint

__all__ = [
    "Commands",
    "FakeModel",
    "FakeSampler",
    "Script",
    "ScriptedEndpoint",
    "ScriptedGuest",
    "ScriptedSandbox",
]
