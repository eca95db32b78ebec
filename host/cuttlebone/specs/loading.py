"""A spec with all that it names: files opened, the block admitted, schemas compiled."""

import hashlib
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cuttlebone.errors import BlockRefused, JobError, OperatorError
from cuttlebone.files import Grants
from cuttlebone.job.journal import digest
from cuttlebone.job_options import Limits
from cuttlebone.sandbox import Block
from cuttlebone.specs.block_registry import BLOCK_BYTES_MAX, DIGEST_PREFIX, Admit
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone.specs.spec import Spec, file_named, read_schema
from cuttlebone.specs.spec_document import SpecDocument
from cuttlebone.text import printable
from cuttlebone_abi import ErrorCode, Json

BlockPath = Callable[[str], Path]
"""Where the block of `sha256:<hex>` is kept; raises OperatorError for another form."""


@dataclass(frozen=True, eq=False)
class LoadedSpec:
    """A spec with everything that it names: opened, admitted and compiled.

    Its grants are closed when the last job that runs under it has let go of it.
    """

    spec: Spec
    path: Path
    block: Block
    grants: Grants
    io_schemas: IoSchemas
    input_schema: Json
    output_schema: Json
    limits: Limits
    """Defaults, spec and server maximum together."""
    document: bytes
    """All of it that shapes a job, a `SpecDocument`."""
    sha256: str
    """Of the document: what a job names the spec by that it was accepted for."""


def no_blocks(digest: str) -> Path:
    """Refuse every block by digest: there are no uploads. Raises OperatorError."""
    raise OperatorError(f"{digest} is the digest of an uploaded block, and only `serve` has these")


def load_spec(
    spec: Spec,
    path: Path,
    *,
    admit: Admit,
    limits_max: Limits,
    blocks: BlockPath = no_blocks,
) -> LoadedSpec:
    """Open, admit and check everything that `spec` names; raise OperatorError with file and reason."""
    try:
        wasm = _wasm_of(spec, path.absolute().parent, blocks)
    except OperatorError as error:
        raise OperatorError(f"{path}: {error}") from None
    return _loaded(spec, path, wasm, admit, limits_max)


def load_document(document: bytes, *, admit: Admit, blocks: BlockPath = no_blocks) -> LoadedSpec:
    """Load again what jobs were accepted for, from its document and the files that it names.

    Raises JobError `input_changed` that says which of these are not what they were.
    """
    accepted = SpecDocument.read(document)
    spec, folder = accepted.spec(), Path(accepted.folder)
    block = f"its block `{printable(spec.block)}`"
    try:
        wasm = _wasm_of(spec, folder, blocks)
    except OperatorError as error:
        raise _changed(accepted, f"{block} is gone") from error
    found = hashlib.sha256(wasm).hexdigest()
    if found != accepted.block_sha256:
        raise _changed(
            accepted, f"{block} had the SHA-256 {accepted.block_sha256}, and has {found} now"
        )
    try:
        return _loaded(spec, folder / spec.name, wasm, admit, accepted.limits)
    except OperatorError as error:
        raise _changed(
            accepted, "what its `capabilities.read` named then is not there any more"
        ) from error


def _changed(accepted: SpecDocument, what: str) -> JobError:
    return JobError(
        ErrorCode.INPUT_CHANGED,
        f"the spec `{accepted.name}` is another one than this job was accepted for, and {what}; "
        "submit the job again",
    )


def _loaded(spec: Spec, path: Path, wasm: bytes, admit: Admit, limits_max: Limits) -> LoadedSpec:
    folder = path.absolute().parent
    block = _admit_block(spec, path, wasm, admit)
    try:
        input_schema = read_schema(spec.input, folder)
        output_schema = read_schema(spec.output, folder)
        io_schemas = IoSchemas(
            block.signature, input_schema=input_schema, output_schema=output_schema
        )
        grants = Grants.resolve(
            folder, spec.capabilities.read, follow_symlinks=spec.capabilities.follow_symlinks
        )
    except OperatorError as error:
        raise OperatorError(f"{path}: {error}") from None
    limits = spec.job_limits.bounded(limits_max)
    document = SpecDocument.of(
        spec,
        folder,
        block_sha256=block.digest.removeprefix(DIGEST_PREFIX),
        schemas=(input_schema, output_schema),
        limits=limits,
    ).written()
    loaded = LoadedSpec(
        spec=spec,
        path=path,
        block=block,
        grants=grants,
        io_schemas=io_schemas,
        input_schema=input_schema,
        output_schema=output_schema,
        limits=limits,
        document=document,
        sha256=digest(document),
    )
    weakref.finalize(loaded, grants.close)
    return loaded


def files_named(spec: Spec, folder: Path, blocks: BlockPath) -> list[Path]:
    """The files beside the spec's own that loading it reads, there or not."""
    schemas = [schema for schema in (spec.input, spec.output) if isinstance(schema, str)]
    named = [folder / name for name in schemas]
    with suppress(OperatorError):  # loading says so
        named.append(_block_path(spec, folder, blocks))
    return named


def read_block(path: Path) -> bytes:
    """Read a wasm file of bounded size; raise OperatorError."""
    try:
        with path.open("rb") as file:
            wasm = file.read(BLOCK_BYTES_MAX + 1)
    except OSError as error:
        raise OperatorError(f"the block {path} cannot be read: {error.strerror}") from None
    if len(wasm) > BLOCK_BYTES_MAX:
        raise OperatorError(f"the block {path} is larger than {BLOCK_BYTES_MAX} bytes")
    return wasm


def _admit_block(spec: Spec, spec_path: Path, wasm: bytes, admit: Admit) -> Block:
    try:
        return admit(wasm)
    except OperatorError as error:
        raise OperatorError(f"{spec_path}: {error}") from None
    except BlockRefused as error:
        faults = "".join(f"\n  - {fault}" for fault in error.faults)
        raise OperatorError(f"{spec_path}: {spec.block} is no usable block:{faults}") from None


def _wasm_of(spec: Spec, folder: Path, blocks: BlockPath) -> bytes:
    path = _block_path(spec, folder, blocks)
    if not spec.block.startswith(DIGEST_PREFIX):
        return read_block(path)
    if not path.exists():
        raise OperatorError(f"no block {spec.block} was uploaded; PUT it to /v1/blocks first")
    wasm = read_block(path)
    found = hashlib.sha256(wasm).hexdigest()
    if found != spec.block.removeprefix(DIGEST_PREFIX):
        raise OperatorError(f"{path} has changed, its SHA-256 is {found} now; upload it again")
    return wasm


def _block_path(spec: Spec, folder: Path, blocks: BlockPath) -> Path:
    if spec.block.startswith(DIGEST_PREFIX):
        return blocks(spec.block)
    return file_named(spec.block, folder)
