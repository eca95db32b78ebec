"""All cases of a block, in every mode in which a host runs guests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.authoring.case import Case, case_files, read_case, record
from cuttlebone.authoring.comparison import Outcome, difference, recorded
from cuttlebone.authoring.folder import BlockFolder
from cuttlebone.authoring.trial import run_case
from cuttlebone.errors import CallerError, OperatorError
from cuttlebone.execution.ending import NO_USAGE
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Isolation, Settings
from cuttlebone_abi import Failed, Failure

BOTH_MODES: Final = (Isolation.THREAD, Isolation.PROCESS)

_UNRECORDED: Final = "it has no `expect`; `cuttlebone block test --update` records what comes"


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """How one run of one case went."""

    case: str
    isolation: Isolation
    difference: Sequence[str]
    """Lines that show what is otherwise than expected; none if it went well."""

    @property
    def ok(self) -> bool:
        """Whether everything came as expected."""
        return not self.difference


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of one folder, read."""

    folder: BlockFolder
    cases: Sequence[tuple[Path, Case]]
    settings: Settings
    model: Path | None = None
    """A GGUF file to ask instead of the scripted answers."""

    def run(self, modes: Sequence[Isolation]) -> Iterator[CaseOutcome]:
        """Run every case in every mode; raise OperatorError for a spec or block with a fault."""
        for mode, path, case, outcome in self._outcomes(modes):
            lines = [_UNRECORDED] if case.expect is None else difference(case.expect, outcome)
            yield CaseOutcome(path.stem, mode, lines)

    def update(self, mode: Isolation) -> Iterator[CaseOutcome]:
        """Run every case and record what comes as what is expected; raise OperatorError."""
        for _, path, case, outcome in self._outcomes([mode]):
            record(path, recorded(case.expect, outcome))
            yield CaseOutcome(path.stem, mode, ())

    def _outcomes(
        self, modes: Sequence[Isolation]
    ) -> Iterator[tuple[Isolation, Path, Case, Outcome]]:
        cache = self.settings.cache_folder / "modules"
        for mode in modes:
            with Sandbox(cache, isolation=mode) as sandbox:
                for path, case in self.cases:
                    yield mode, path, case, self._outcome(case, sandbox)

    def _outcome(self, case: Case, sandbox: Sandbox) -> Outcome:
        try:
            return run_case(self.folder, case, sandbox, self.settings, self.model)
        except CallerError as error:
            # To a case an input that is refused is an end like any other.
            failure = Failure(code=error.code, message=error.message)
            return Outcome(Failed(error=failure, usage=NO_USAGE), ())


def read_suite(
    folder: BlockFolder, settings: Settings, *, only: Sequence[str] = (), model: Path | None = None
) -> Suite:
    """Read the cases of a folder, or `only` some of them by name; raise OperatorError."""
    files = {file.stem: file for file in case_files(folder.path)}
    for name in only:
        if name not in files:
            raise OperatorError(f"there is no case {name!r}; there are {', '.join(files)}")
    chosen = [file for name, file in files.items() if not only or name in only]
    return Suite(folder, [(file, read_case(file)) for file in chosen], settings, model)
