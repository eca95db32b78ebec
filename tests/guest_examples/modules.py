"""Where the C examples are built, and the types of the fixtures that build and open them."""

from collections.abc import Callable
from pathlib import Path

from cuttlebone.sandbox import Guest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "guest-examples" / "c" / "build.py"

Compile = Callable[[Path], bytes]
OpenGuest = Callable[..., Guest]
