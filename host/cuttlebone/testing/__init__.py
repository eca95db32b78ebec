"""Fakes that ship with the host: guests that are Python scripts, models that need no file."""

from cuttlebone.testing.guests import Commands, Script, ScriptedGuest, ScriptedSandbox
from cuttlebone.testing.models import FakeModel, FakeSampler

__all__ = ["Commands", "FakeModel", "FakeSampler", "Script", "ScriptedGuest", "ScriptedSandbox"]
