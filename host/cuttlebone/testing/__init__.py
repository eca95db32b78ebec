"""Fakes that ship with the host: guests and endpoints that are scripts, models that need no file."""

from cuttlebone.testing.scripted_endpoint import ScriptedEndpoint
from cuttlebone.testing.scripted_guest import Commands, Script, ScriptedGuest, ScriptedSandbox
from cuttlebone.testing.scripted_model import ScriptedModel

__all__ = [
    "Commands",
    "Script",
    "ScriptedEndpoint",
    "ScriptedGuest",
    "ScriptedModel",
    "ScriptedSandbox",
]
