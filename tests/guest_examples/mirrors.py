"""The mirrors: a guest in each language that tells what its SDK understood (see tests/sdk/README.md)."""

import shutil
from collections.abc import Callable
from pathlib import Path

from cuttlebone.authoring.building import Tools, assemblyscript_command, zig_command
from cuttlebone.authoring.folder import Language
from cuttlebone_abi import Emit, Json, decode_command
from guest_examples.languages import EXAMPLES, MIRRORS, build_crate, build_source, run_compiler

ANSWER_BYTES_MAX = 2 << 20


def build_mirror(language: Language, into: Path) -> bytes:
    """Build the mirror of a language, into an empty folder."""
    return _BUILDERS[language](MIRRORS / language, into / "mirror.wasm")


def progress(command: bytes) -> Json:
    """What a mirror tells."""
    decoded = decode_command(command, bytes_max=ANSWER_BYTES_MAX)
    assert isinstance(decoded, Emit), command[:1000]
    return decoded.progress


def _build_c(source: Path, output: Path) -> bytes:
    return build_source(source / "mirror.c", output.parent)


def _build_rust(source: Path, _: Path) -> bytes:
    return build_crate(source, "mirror")


def _build_zig(source: Path, output: Path) -> bytes:
    # Its compiler leaves an object file in the folder in which it runs.
    shutil.copy(source / "mirror.zig", output.parent)
    run_compiler(zig_command(output.parent, output, Tools()), output.parent)
    return output.read_bytes()


def _build_assemblyscript(source: Path, output: Path) -> bytes:
    # The mirror lies outside of the folder whose node_modules it needs.
    folder = output.parent / "mirror"
    shutil.copytree(source, folder)
    (folder / "node_modules").symlink_to(EXAMPLES / "assemblyscript" / "node_modules")
    run_compiler(assemblyscript_command(folder, output, Tools()), folder)
    return output.read_bytes()


_BUILDERS: dict[Language, Callable[[Path, Path], bytes]] = {
    Language.C: _build_c,
    Language.RUST: _build_rust,
    Language.ZIG: _build_zig,
    Language.ASSEMBLYSCRIPT: _build_assemblyscript,
}
