"""What most tests of jobs need: scopes over a real folder, a store of each kind, a folder with a text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cuttlebone.commands.budget import Budget
from cuttlebone.commands.scope import Model, Scope
from cuttlebone.files import Grants, HandleTable
from cuttlebone.jobs.store import JobStore
from cuttlebone.jobs.store_memory import MemoryJobStore
from cuttlebone.jobs.store_sqlite import SqliteJobStore
from cuttlebone.settings import Limits
from cuttlebone_abi import Json
from jobs.recordings import TEXT


@dataclass(slots=True)
class Told:
    """An event sink that remembers."""

    progress_values: list[Json] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def progress(self, value: Json) -> None:
        self.progress_values.append(value)

    def token(self, text: str) -> None:
        self.tokens.append(text)

    def waiting(self, cause: str) -> None:
        raise AssertionError(f"nothing loads here, but a job waited for {cause}")


ScopeOf = Callable[..., Scope]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def scope_of(tmp_path: Path, told: Told) -> Iterator[ScopeOf]:
    """Makes scopes whose files are those of `tmp_path`, with the given limits and model."""
    with Grants.resolve(tmp_path, ["."]) as grants:
        tables: list[HandleTable] = []

        def make(*, model: Model | None = None, **limits: int) -> Scope:
            stated = Limits(**limits)
            files = HandleTable(
                grants, handles_max=stated.handles, window_bytes_max=stated.window_bytes
            )
            tables.append(files)
            return Scope(
                job="a-job",
                tenant="local",
                files=files,
                model=model,
                events=told,
                budget=Budget(stated),
            )

        yield make
        for table in tables:
            table.close_all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one text, which `jobs.recordings.block` reads."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(TEXT)
    return tmp_path


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobStore]:
    makers: dict[str, Callable[[], JobStore]] = {
        "memory": lambda: MemoryJobStore(kept_max=100),
        "sqlite": lambda: SqliteJobStore(tmp_path),
    }
    made = makers[request.param]()
    yield made
    made.close()
