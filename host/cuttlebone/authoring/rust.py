"""Finding a Rust toolchain that can build for wasm32, and how cargo has to be called for a block."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.authoring.folder import Language
from cuttlebone.authoring.sdk import sdk_folder
from cuttlebone.errors import OperatorError

TARGET: Final = "wasm32-unknown-unknown"
NO_CARGO: Final = (
    "cargo is missing; install Rust with the target wasm32-unknown-unknown: with rustup, or on "
    "Debian `apt install cargo rustc libstd-rust-dev-wasm32 lld`"
)
NO_TARGET: Final = (
    "Rust has no standard library for wasm32-unknown-unknown here; install it: `rustup target add "
    "wasm32-unknown-unknown`, or on Debian `apt install cargo rustc libstd-rust-dev-wasm32 lld`"
)
_SYSTEM: Final = Path("/usr/bin")
_SPARSE_SINCE: Final = (1, 68)
"""The first release whose cargo reads the registry's sparse index without being asked to."""


@dataclass(frozen=True, slots=True)
class RustToolchain:
    """A cargo, and a rustc with a standard library for wasm32."""

    cargo: str
    rustc: str

    @property
    def environment(self) -> Mapping[str, str]:
        """What cargo needs in its environment."""
        needed = {"RUSTC": self.rustc}
        if _version(self.rustc) < _SPARSE_SINCE:
            needed |= {"RUSTC_BOOTSTRAP": "1", "CARGO_UNSTABLE_SPARSE_REGISTRY": "true"}
        return needed

    def command(self) -> Sequence[str]:
        """The command that builds the package of its folder and tells about it in JSON lines."""
        told = "--message-format=json-render-diagnostics"
        return [
            self.cargo, "build", "--release", "--target", TARGET, told, "--config", _remap(),
        ]  # fmt: skip


def find_rust(which: Callable[[str], str | None]) -> RustToolchain:
    """Find the toolchain on PATH, or Debian's if that one has no target; raise OperatorError."""
    cargo, rustc = which("cargo"), which("rustc")
    if cargo is None or rustc is None:
        raise OperatorError(NO_CARGO)
    # A rustup without the target often hides a distribution's compiler that has it.
    for found in (
        RustToolchain(cargo, rustc),
        RustToolchain(str(_SYSTEM / "cargo"), str(_SYSTEM / "rustc")),
    ):
        if _has_target(found):
            return found
    raise OperatorError(NO_TARGET)


def _has_target(toolchain: RustToolchain) -> bool:
    if not (Path(toolchain.cargo).exists() and Path(toolchain.rustc).exists()):
        return False
    folder = _told(toolchain.rustc, "--print", "target-libdir", "--target", TARGET)
    return any(Path(folder).glob("libcore-*"))


def _version(rustc: str) -> tuple[int, int]:
    major, minor, *_ = _told(rustc, "--version").split()[1].split(".")
    return int(major), int(minor)


def _told(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # the author's own compiler
    return done.stdout.strip()


def _remap() -> str:
    """Keep paths of this machine out of the module, where the messages of panics would have them."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    named = {
        **dict.fromkeys(home.glob("registry/src/*"), "crates"),
        sdk_folder(Language.RUST): "cuttlebone",
    }
    flags = [f"--remap-path-prefix={path}={name}" for path, name in named.items()]
    return f"target.{TARGET}.rustflags={flags}"
