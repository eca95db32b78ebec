"""The languages that blocks are written in: what building them takes, and their mirrors.

A mirror is a guest that tells what its SDK understood; tests/sdk/README.md says how.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from cuttlebone.blocks.building import Tools, assemblyscript_command, zig_command
from cuttlebone.blocks.folder import Language
from cuttlebone.blocks.rust import TARGET, find_rust
from cuttlebone.errors import OperatorError
from guest_examples.modules import ROOT

EXAMPLES = ROOT / "guest-examples"
MIRRORS = ROOT / "tests" / "sdk"


def examples(language: Language) -> Sequence[Path]:
    """The folders of all examples in a language."""
    return sorted(path.parent for path in (EXAMPLES / language).glob("*/*.yaml"))


def need(language: Language) -> None:
    """Skip a test whose compiler this machine lacks; where CI has to have it, fail."""
    if reason := _missing(language):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


def _missing(language: Language) -> str | None:
    match language:
        case Language.C | Language.ZIG:
            return None if find_spec("ziglang") else "no ziglang: install the extra `test`"
        case Language.RUST:
            try:
                find_rust(shutil.which)
            except OperatorError as error:
                return str(error)
            return None
        case Language.ASSEMBLYSCRIPT:
            folder = EXAMPLES / "assemblyscript"
            if (folder / "node_modules" / ".bin" / "asc").exists() and shutil.which("node"):
                return None
            return "no AssemblyScript: install Node 20 and run `npm ci` in guest-examples/assemblyscript"


def build_mirror(language: Language, into: Path) -> bytes:
    """Build the mirror of a language, into an empty folder."""
    return _BUILDERS[language](MIRRORS / language, into / "mirror.wasm")


def build_crate(folder: Path, name: str) -> bytes:
    """Build a crate of the workspace of the Rust examples."""
    rust, target = find_rust(shutil.which), EXAMPLES / "rust" / "target"
    _run(rust.command(), folder, {**os.environ, **rust.environment})
    return (target / TARGET / "release" / f"{name}.wasm").read_bytes()


def _build_rust(source: Path, _: Path) -> bytes:
    return build_crate(source, "mirror")


def _build_zig(source: Path, output: Path) -> bytes:
    # Its compiler leaves an object file in the folder in which it runs.
    shutil.copy(source / "mirror.zig", output.parent)
    _run(zig_command(output.parent, output, Tools()), output.parent)
    return output.read_bytes()


def _build_assemblyscript(source: Path, output: Path) -> bytes:
    # The mirror lies outside of the folder whose node_modules it needs.
    folder = output.parent / "mirror"
    shutil.copytree(source, folder)
    (folder / "node_modules").symlink_to(EXAMPLES / "assemblyscript" / "node_modules")
    _run(assemblyscript_command(folder, output, Tools()), folder)
    return output.read_bytes()


def _run(command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


_BUILDERS: dict[Language, Callable[[Path, Path], bytes]] = {
    Language.RUST: _build_rust,
    Language.ZIG: _build_zig,
    Language.ASSEMBLYSCRIPT: _build_assemblyscript,
}
