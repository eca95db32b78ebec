"""A block or spec files looked at as a host would, without one: what they are, or what is wrong with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuttlebone.authoring.doctor import Examination, examine
from cuttlebone.errors import OperatorError
from cuttlebone.job_options import Limits
from cuttlebone.sandbox import Block, Sandbox
from cuttlebone.specs.catalog import Catalog, spec_files_in
from cuttlebone.specs.loading import LoadedSpec, read_block

__all__ = [
    "Block",
    "CheckedSpecs",
    "LoadedSpec",
    "admit_file",
    "check_specs",
    "examine_file",
    "read_block",
]


@dataclass(frozen=True, slots=True)
class CheckedSpecs:
    """What a host would serve, by name, and what it would not, by file."""

    served: Mapping[str, LoadedSpec]
    faults: Mapping[Path, str]


def check_specs(paths: Sequence[Path], limits_max: Limits) -> CheckedSpecs:
    """Load spec files, or folders of them; raise OperatorError for a folder without one."""
    files = [file for path in paths for file in _files(path)]
    with Sandbox() as sandbox:
        catalog = Catalog(lambda: files, admit=sandbox.admit, limits_max=limits_max)
        catalog.refresh()
        return CheckedSpecs(catalog.specs(), catalog.faults())


def admit_file(path: Path) -> Block:
    """Admit a module as a host would; raise OperatorError, BlockRefused."""
    wasm = read_block(path)
    with Sandbox() as sandbox:
        return sandbox.admit(wasm)


def examine_file(path: Path) -> Examination:
    """Find everything that is wrong with a module; raise OperatorError if there is no such file."""
    wasm = read_block(path)
    with Sandbox() as sandbox:
        return examine(wasm, sandbox)


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    files = spec_files_in(path)
    if not files:
        raise OperatorError(f"there is no *.yaml, *.yml or *.json file in {path}")
    return files
