"""Where the repository is, and the types of the fixtures that build and open modules."""

from collections.abc import Callable
from pathlib import Path

from cuttlebone.sandbox import Guest

ROOT = Path(__file__).resolve().parents[2]

Compile = Callable[[Path], bytes]
OpenGuest = Callable[..., Guest]
