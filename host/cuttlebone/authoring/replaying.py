"""A recorded job driven again: the record from a file or a state folder, a block, the files that its spec grants."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from cuttlebone.errors import OperatorError
from cuttlebone.execution.replay.replay import End, Replay, is_whole, replay
from cuttlebone.execution.watchdog import Watchdog
from cuttlebone.job.recorded_job import RecordedJob, read_recorded_job
from cuttlebone.sandbox import GuestLimits, Sandbox
from cuttlebone.settings import Settings
from cuttlebone.specs.block_registry import DIGEST_PREFIX
from cuttlebone.specs.catalog import spec_files_in
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.specs.loading import LoadedSpec, load_spec, read_block
from cuttlebone.specs.spec import Spec, read_spec
from cuttlebone.store.sqlite import recorded_in

__all__ = ["DOCUMENT_BYTES_MAX", "End", "Replay", "recorded_in", "recorded_in_file", "replay_again"]

DOCUMENT_BYTES_MAX: Final = 512 << 20


def recorded_in_file(path: Path) -> RecordedJob:
    """Read what `cuttlebone job export` wrote; raise OperatorError."""
    with path.open("rb") as file:
        data = file.read(DOCUMENT_BYTES_MAX + 1)
    if len(data) > DOCUMENT_BYTES_MAX:
        raise OperatorError(f"{path} is larger than {DOCUMENT_BYTES_MAX} bytes")
    return read_recorded_job(data, str(path))


def replay_again(recorded: RecordedJob, block: Path | None, settings: Settings) -> Replay:
    """Drive `block`, or that of the spec, through a recorded job; raise OperatorError, BlockRefused.

    The spec is looked for in `settings.specs`; it is needed for its block, and for its files where the
    job was not recorded in full.
    """
    with ExitStack() as stack:
        sandbox = stack.enter_context(
            Sandbox(settings.cache_folder / "modules", isolation=settings.isolation)
        )
        loaded = _loaded(recorded, block, settings, sandbox)
        if block is not None:
            chosen = sandbox.admit(read_block(block))
        elif loaded is not None:
            chosen = loaded.block
        else:
            raise AssertionError("without a block the spec is needed")
        grants = None if loaded is None or is_whole(recorded) else loaded.grants
        guest = stack.enter_context(
            closing(sandbox.open_guest(chosen, GuestLimits.of(recorded.limits)))
        )
        io_schemas = IoSchemas(chosen.signature) if loaded is None else loaded.io_schemas
        watchdog = stack.enter_context(Watchdog())
        return replay(
            guest,
            recorded,
            io_schemas,
            grants,
            block_sha256=chosen.digest.removeprefix(DIGEST_PREFIX),
            watchdog=watchdog,
        )


def _loaded(
    recorded: RecordedJob, block: Path | None, settings: Settings, sandbox: Sandbox
) -> LoadedSpec | None:
    """Load the spec of the job; None if it is not there and not needed."""
    found = _spec(recorded.spec, settings.specs)
    if found is not None:
        path, spec = found
        return load_spec(spec, path, admit=sandbox.admit, limits_max=settings.limits_max)
    if block is not None and is_whole(recorded):
        return None
    needed = "block" if block is None else "files (it was not recorded in full)"
    raise OperatorError(
        f"no spec in {settings.specs} is named {recorded.spec!r}, and the replay needs its {needed}; "
        "give --specs DIR"
    )


def _spec(name: str, folder: Path) -> tuple[Path, Spec] | None:
    paths = spec_files_in(folder) if folder.is_dir() else []
    for path in paths:
        try:
            spec = read_spec(path)
        except OperatorError:
            continue  # a fault of another spec is no matter here
        if spec.name == name:
            return path, spec
    return None
