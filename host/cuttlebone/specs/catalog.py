"""The specs that a host serves, by name: loaded again on change, bad ones reported."""

import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from cuttlebone.errors import CallerError, OperatorError, ProblemCode
from cuttlebone.files import roots_named
from cuttlebone.job_options import Limits
from cuttlebone.specs.block_registry import Admit
from cuttlebone.specs.loading import BlockPath, LoadedSpec, files_named, load_spec, no_blocks
from cuttlebone.specs.spec import SPEC_SUFFIXES, read_spec
from cuttlebone.text import printable

SpecFiles = Callable[[], Sequence[Path]]
"""Lists the spec files to serve, anew at each call."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Tells whether a file is still the one that was read, or a root of a grant the one that is held."""

    path: Path
    root: bool
    mark: tuple[int, ...]
    """Empty where there is nothing."""

    @staticmethod
    def of(path: Path, *, root: bool = False) -> "_Stamp":
        try:
            status = path.stat()
        except OSError:
            return _Stamp(path, root, ())
        if not root:
            return _Stamp(path, root, (status.st_mtime_ns, status.st_size))
        # What is in a granted folder may change as it likes, and so may a granted file.
        held = (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else (0,)
        return _Stamp(path, root, held)

    @property
    def holds(self) -> bool:
        """Whether nothing has changed."""
        return _Stamp.of(self.path, root=self.root) == self


@dataclass(frozen=True, slots=True)
class _Entry:
    stamps: tuple[_Stamp, ...]
    loaded: LoadedSpec | None
    fault: str | None


class Catalog:
    """Specs by name. Any thread may ask; one lock guards loading.

    Invariant: a spec is served exactly as its files were when it was last loaded without fault
    by `refresh`; a file with a fault serves nothing and stands in `faults`.
    """

    def __init__(
        self,
        spec_files: SpecFiles,
        *,
        admit: Admit,
        limits_max: Limits,
        blocks: BlockPath | None = None,
    ) -> None:
        """`blocks` finds those that specs name by digest; without it such specs are refused."""
        self._spec_files = spec_files
        self._admit = admit
        self._blocks = blocks or no_blocks
        self._limits_max = limits_max
        self._entries: dict[Path, _Entry] = {}
        self._served: Mapping[str, LoadedSpec] = MappingProxyType({})
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Load what is new or changed, forget what is gone; raise OperatorError without a folder."""
        with self._lock:
            entries = {path: self._current(path) for path in self._spec_files()}
            if entries != self._entries:
                self._entries = entries
                self._served = MappingProxyType(_by_name(entries))

    def specs(self) -> Mapping[str, LoadedSpec]:
        """The specs that are served, by name, in alphabetical order."""
        return self._served

    def get(self, name: str) -> LoadedSpec:
        """Return the spec of that name; raise CallerError if there is none or it has a fault."""
        specs = self._served
        if name in specs:
            return specs[name]
        shown = printable(name)
        if any(path.stem == name for path in self.faults()):
            raise CallerError(
                ProblemCode.SPEC_UNUSABLE,
                f"the spec {shown!r} has a fault that the operator of this host has to mend",
            )
        raise CallerError(
            ProblemCode.UNKNOWN_SPEC, f"no spec is named {shown!r}; GET /v1/specs lists them"
        )

    def faults(self) -> Mapping[Path, str]:
        """What is wrong with the spec files that cannot be served."""
        with self._lock:
            found = {
                path: entry.fault
                for path, entry in self._entries.items()
                if entry.fault is not None
            }
            found.update(_repeated_names(self._entries))
        return found

    def naming(self, block: Path) -> tuple[str, ...]:
        """Return who names the block in that file: specs, and spec files that have another fault."""
        entries = self._entries
        return tuple(
            sorted(
                path.name if entry.loaded is None else entry.loaded.spec.name
                for path, entry in entries.items()
                if any(stamp.path == block for stamp in entry.stamps)
            )
        )

    def _current(self, path: Path) -> _Entry:
        known = self._entries.get(path)
        if known is not None and all(stamp.holds for stamp in known.stamps):
            return known
        stamps = [_Stamp.of(path)]
        try:
            spec = read_spec(path)
            stamps.extend(
                _Stamp.of(named) for named in files_named(spec, path.parent, self._blocks)
            )
            stamps.extend(
                _Stamp.of(root, root=True)
                for root in roots_named(path.parent, spec.capabilities.read)
            )
            loaded = load_spec(
                spec, path, admit=self._admit, limits_max=self._limits_max, blocks=self._blocks
            )
        except OperatorError as error:
            return _Entry(tuple(stamps), None, str(error))
        return _Entry(tuple(stamps), loaded, None)


# A block in AssemblyScript has these beside its spec.
TOOL_FILES: Final = frozenset(
    {"package.json", "package-lock.json", "asconfig.json", "tsconfig.json"}
)
"""Files of other tools, which are no specs whatever stands in them."""


def spec_files_in(folder: Path) -> list[Path]:
    """List the spec files of a folder, by name; raise OperatorError if it cannot be read."""
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.suffix in SPEC_SUFFIXES and path.name not in TOOL_FILES
        )
    except OSError as error:
        raise OperatorError(
            f"the specs folder {folder} cannot be read: {error.strerror}; make it or give --specs DIR"
        ) from None


def _by_name(entries: Mapping[Path, _Entry]) -> dict[str, LoadedSpec]:
    repeated = _repeated_names(entries)
    served = [
        entry.loaded
        for path, entry in entries.items()
        if entry.loaded is not None and path not in repeated
    ]
    return {loaded.spec.name: loaded for loaded in sorted(served, key=lambda one: one.spec.name)}


def _repeated_names(entries: Mapping[Path, _Entry]) -> dict[Path, str]:
    """Faults of the files whose name another file has too: none of them is served."""
    by_name: dict[str, list[Path]] = {}
    for path, entry in entries.items():
        if entry.loaded is not None:
            by_name.setdefault(entry.loaded.spec.name, []).append(path)
    return {
        path: f"{path}: the name `{name}` stands in {' and '.join(map(str, paths))}; rename one"
        for name, paths in by_name.items()
        if len(paths) > 1
        for path in paths
    }
