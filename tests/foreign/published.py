"""What others have published for the contract: fetched from the Rust registry, built outside of the tree."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest
from platformdirs import user_cache_path

from cuttlebone.authoring.rust import TARGET, RustToolchain, find_rust

WORKSPACE: Final = Path(__file__).parent
SDK_VERSIONS: Final = ("0.0.3", "0.0.10", "0.7.0", "0.8.2", "0.9.0")
"""The first whose blocks can infer, and of each later generation one."""
BLOCKS: Final = ("summarise", "walk")
INTERPRETER: Final = ("cuttlefish-host", "0.9.0", Path("assets") / "rhai-interpreter.wasm")
"""Crate, version, and the file in it: a module that others have built."""

_CACHE: Final = user_cache_path("cuttlebone-tests") / "foreign"
_DEBIANS_RUST: Final = "-Zcrate-attr=feature(is_some_with)"
"""All that these crates need of a later Rust is stable since 1.70, and under another name in 1.63."""


def block_name(name: str, sdk_version: str) -> str:
    """A block over one version of the SDK, as its file and its spec are called."""
    return f"{name}_{sdk_version.replace('.', '_')}"


def build_blocks() -> Path:
    """Build all blocks over all versions; return their folder. Skips where they cannot be fetched."""
    rust = find_rust(shutil.which)
    fetched = _cargo(rust, "fetch", "--locked", "--target", TARGET)
    if fetched.returncode:
        pytest.skip(f"the published SDKs cannot be fetched: {fetched.stderr.strip()[-300:]}")
    built = _cargo(
        rust, "build", "--release", "--examples", "--offline", "--locked", "--ignore-rust-version",
        "--target", TARGET,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return _CACHE / "target" / TARGET / "release" / "examples"


def fetch_interpreter() -> bytes:
    """The script interpreter of others, as they built it. Skips where it cannot be fetched."""
    crate, version, file = INTERPRETER
    # Asked to install a library, cargo unpacks it alone, and not what it depends on; then it refuses.
    told = _cargo(
        find_rust(shutil.which), "install", crate, "--version", version, "--root", str(_CACHE)
    )
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for found in home.glob(f"registry/src/*/{crate}-{version}/{file}"):
        return found.read_bytes()
    pytest.skip(f"{crate} cannot be fetched: {told.stderr.strip()[-300:]}")


def _cargo(rust: RustToolchain, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [rust.cargo, *arguments],
        cwd=WORKSPACE,
        env={**os.environ, **rust.environment, **_flags(rust.environment)},
        capture_output=True,
        text=True,
        check=False,
    )


def _flags(environment: Mapping[str, str]) -> Mapping[str, str]:
    old: Sequence[str] = [_DEBIANS_RUST] if "RUSTC_BOOTSTRAP" in environment else []
    return {
        "CARGO_TARGET_DIR": str(_CACHE / "target"),
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS": " ".join(old),
    }
