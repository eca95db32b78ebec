"""The languages that blocks are written in: where their examples are, and what building them takes."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from cuttlebone.authoring.building import Tools, c_command
from cuttlebone.authoring.folder import Language
from cuttlebone.authoring.rust import TARGET, find_rust
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


def build_source(source: Path, into: Path) -> bytes:
    """Build a C block, the only source of its folder, with all warnings as errors."""
    output = (into / source.name).with_suffix(".wasm")
    run_compiler([*c_command(source.parent, output, Tools()), "-std=c11", "-Werror"], source.parent)
    return output.read_bytes()


def build_crate(folder: Path, name: str) -> bytes:
    """Build a crate of the workspace of the Rust examples."""
    rust, target = find_rust(shutil.which), EXAMPLES / "rust" / "target"
    run_compiler(rust.command(), folder, rust.environment)
    return (target / TARGET / "release" / f"{name}.wasm").read_bytes()


def run_compiler(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Run a compiler; what it says is the reason of a failure."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
