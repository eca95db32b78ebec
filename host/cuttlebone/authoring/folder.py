"""The folder of a block: its spec, its sources, the module that they are built to, its cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.files.temporary import is_temporary
from cuttlebone.specs.spec import Spec, read_spec

CASES_FOLDER: Final = "cases"
TOOL_FOLDERS: Final = frozenset(
    {"target", "node_modules", ".zig-cache", "zig-out", ".git", "build", "__pycache__"}
)
"""Where toolchains write."""
_YAML: Final = (".yaml", ".yml")


class Language(StrEnum):
    """The languages that there is an SDK for."""

    C = "c"
    RUST = "rust"
    ZIG = "zig"
    ASSEMBLYSCRIPT = "assemblyscript"


@dataclass(frozen=True, slots=True)
class BlockFolder:
    """A folder with one spec in it."""

    path: Path
    spec_path: Path
    spec: Spec

    @property
    def module(self) -> Path:
        """Where the spec says that the module lies."""
        return self.path / self.spec.block

    @property
    def language(self) -> Language:
        """Told by the sources; raises OperatorError where there are none, or of several languages."""
        found = [language for language in Language if sources(self.path, language)]
        # A Rust block may bring C of its own, so the build file decides.
        if Language.RUST in found:
            return Language.RUST
        if len(found) != 1:
            what = " and ".join(found) if found else "no"
            raise OperatorError(
                f"{self.path} has {what} sources; a block is built from Cargo.toml (Rust), *.c or "
                "*.cpp (C), *.zig (Zig), or assembly/*.ts (AssemblyScript)"
            )
        return found[0]


def open_folder(path: Path) -> BlockFolder:
    """Find and read the spec of a block's folder; raise OperatorError."""
    if not path.is_dir():
        raise OperatorError(f"there is no folder {path}")
    specs = sorted(
        file for file in path.iterdir() if file.suffix in _YAML and not is_temporary(file.name)
    )
    named = [file for file in specs if file.stem == path.resolve().name]
    match named or specs:
        case [spec_path]:
            return BlockFolder(path, spec_path, read_spec(spec_path))
        case []:
            raise OperatorError(f"there is no spec (*.yaml) in {path}; docs/specs.md shows one")
        case several:
            names = ", ".join(file.name for file in several)
            raise OperatorError(
                f"{path} has several specs ({names}); keep one, or call one "
                f"{path.resolve().name}.yaml"
            )


def sources(path: Path, language: Language) -> Sequence[Path]:
    """The files of a folder that a build of this language starts from, by name."""
    match language:
        case Language.C:
            found = [*path.glob("*.c"), *path.glob("*.cpp")]
        case Language.RUST:
            found = list(path.glob("Cargo.toml"))
        case Language.ZIG:
            found = list(path.glob("*.zig"))
        case Language.ASSEMBLYSCRIPT:
            found = [*path.glob("assembly/index.ts"), *path.glob("index.ts")]
    return [file for file in sorted(found) if not is_temporary(file.name)]


def is_stale(folder: BlockFolder) -> bool:
    """Whether the module is missing, or a file that it may be built from was saved after it."""
    try:
        built_ns = folder.module.stat().st_mtime_ns
    except FileNotFoundError:
        return True
    return any(saved_ns > built_ns for saved_ns in _saved_ns(folder.path, folder.module))


def _saved_ns(path: Path, module: Path) -> Iterator[int]:
    """When the files of a folder were saved that may go into its module: not its spec, not its cases."""
    for file in path.iterdir():
        if is_temporary(file.name) or file == module or file.suffix in _YAML:
            continue
        if file.is_dir():
            if file.name not in TOOL_FOLDERS | {CASES_FOLDER}:
                yield from _saved_ns(file, module)
        elif file.exists():
            yield file.stat().st_mtime_ns
