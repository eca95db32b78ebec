"""The doctor of blocks: everything that is wrong with a wasm file at once, and what mends it."""

import difflib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cuttlebone.authoring.anatomy import Anatomy, read_anatomy, toolchain_of
from cuttlebone.authoring.constructors import constructs_at_each_call
from cuttlebone.authoring.sample import sample_of
from cuttlebone.errors import BlockRefused, Fault, FaultKind, Interrupted, JobError
from cuttlebone.job_options import Limits
from cuttlebone.sandbox import Block, GuestLimits, Sandbox
from cuttlebone.sandbox.contract import OPTIONAL, REQUIRED, contract_faults
from cuttlebone.sandbox.remedies import Toolchain, remedies
from cuttlebone.sandbox.scan import read_shape
from cuttlebone.sandbox.shape import WASM_PAGE_BYTES, ModuleShape
from cuttlebone.text import printable
from cuttlebone_abi import Fail, Json, MalformedMessage, decode_command, dump_json

TRIAL_S_MAX: Final = 5.0
"""How long a block may take for its first command."""
DEBUG_BYTES_MAX: Final = 64 << 10
CODE_BYTES_LARGE: Final = 1 << 20
STACK_BYTES_LARGE: Final = 1 << 20

_COMMAND_EXPORTS: Final = ("_start", "main", "__main_void", "__original_main")


class Severity(StrEnum):
    """Whether a host refuses the block, or its jobs, for it."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class BlockFinding:
    """One thing that is wrong: what, and what mends it with this toolchain."""

    severity: Severity
    fault: Fault
    mendings: tuple[str, ...] = ()
    """One, or one for each toolchain if that is not known."""

    @property
    def message(self) -> str:
        """What is wrong, without what to do about it."""
        return self.fault.message


@dataclass(slots=True)
class Examination:
    """What the doctor found. Filled by `examine`, read-only for everybody else."""

    toolchain: Toolchain = Toolchain.UNKNOWN
    findings: list[BlockFinding] = field(default_factory=list)
    facts: dict[str, Json] = field(default_factory=dict)
    """Sizes in bytes, times in milliseconds, and what the block declares."""

    @property
    def usable(self) -> bool:
        """Whether a host would run it."""
        return all(finding.severity is not Severity.ERROR for finding in self.findings)

    def error(self, fault: Fault) -> None:
        """Add what a host refuses."""
        self._add(Severity.ERROR, fault)

    def warn(self, fault: Fault) -> None:
        """Add what a host accepts."""
        self._add(Severity.WARNING, fault)

    def _add(self, severity: Severity, fault: Fault) -> None:
        self.findings.append(BlockFinding(severity, fault, remedies(fault.kind, self.toolchain)))


def examine(wasm: bytes, sandbox: Sandbox, *, trial_s_max: float = TRIAL_S_MAX) -> Examination:
    """Find everything that is wrong with a module; never raises for what is in it.

    `sandbox` must have no cache on disk, so that compiling is measured.
    """
    anatomy, found = read_anatomy(wasm), Examination()
    found.facts = {"size_bytes": len(wasm), "sections": dict(anatomy.sections)}
    try:
        shape = read_shape(wasm)
    except BlockRefused as refusal:
        found.toolchain = toolchain_of(anatomy, frozenset(), frozenset())
        for fault in refusal.faults:
            found.error(fault)
        return found
    found.toolchain = _toolchain(anatomy, shape)
    found.facts |= {
        "toolchain": found.toolchain,
        "producers": dict(anatomy.producers),
        "names_functions": anatomy.has_names,
    }
    for fault in contract_faults(shape):
        found.error(fault)
    for warning in _looks(anatomy, shape):
        found.warn(warning)
    if constructs_at_each_call(wasm):
        message = "its constructors run again at every call: what they set up is lost in between"
        found.warn(Fault(FaultKind.CONSTRUCTORS, "", message))
    if not shape.faults:
        _compile(wasm, sandbox, found)
    if found.usable:
        _try_out(wasm, sandbox, found, trial_s_max)
    return found


def _toolchain(anatomy: Anatomy, shape: ModuleShape) -> Toolchain:
    imports = frozenset(f"{item.module}.{item.name}" for item in shape.imports)
    return toolchain_of(anatomy, imports, frozenset(shape.exports))


def _looks(anatomy: Anatomy, shape: ModuleShape) -> Iterator[Fault]:
    """What can be seen without running it and is no fault by itself."""
    for name in shape.exports:
        if near := _meant(name, shape.exports):
            message = f"exports `{printable(name)}`, which no host calls; did you mean `{near}`?"
            yield Fault(FaultKind.EXPORT_NAME, name, message)
    if command := next((name for name in _COMMAND_EXPORTS if name in shape.exports), None):
        yield Fault(
            FaultKind.PROGRAM,
            command,
            f"exports `{command}`: it was built as a program with a main function, not as a library",
        )
    yield from _memory_looks(sum(memory.pages_min for memory in shape.memories) * WASM_PAGE_BYTES)
    if anatomy.debug_bytes > DEBUG_BYTES_MAX:
        message = (
            f"{anatomy.debug_bytes} bytes of it are debug information, which nothing here reads"
        )
        yield Fault(FaultKind.DEBUG, "", message)
    if anatomy.sections.get("code", 0) > CODE_BYTES_LARGE:
        message = f"its code is large, {anatomy.sections['code']} bytes: build it for size"
        yield Fault(FaultKind.CODE, "", message)


def _memory_looks(memory_bytes: int) -> Iterator[Fault]:
    allowed = Limits().memory_bytes
    if memory_bytes > allowed:
        yield Fault(
            FaultKind.INITIAL_MEMORY,
            "memory",
            f"it takes {memory_bytes} bytes of memory to start, but a job has {allowed} by default: "
            "lower its initial memory, or raise `limits.memory_bytes` in the spec",
        )
    elif memory_bytes > STACK_BYTES_LARGE:
        yield Fault(
            FaultKind.STACK,
            "memory",
            f"each job begins with {memory_bytes} bytes of memory: a large stack or large static "
            "data; 64 KiB of stack are enough for most blocks",
        )


def _meant(name: str, exports: Mapping[str, str]) -> str | None:
    """The export of the contract that a name was probably meant to be."""
    wanted = [known for known in REQUIRED | OPTIONAL if known not in exports]
    if name in REQUIRED | OPTIONAL:
        return None
    plain = name.lower().strip("_").replace("-", "_")
    for known in wanted:
        if plain.replace("_", "") == known.strip("_").replace("_", ""):
            return known
    if not plain.startswith("cf"):
        return None
    return next(iter(difflib.get_close_matches(plain, wanted, n=1, cutoff=0.8)), None)


def _compile(wasm: bytes, sandbox: Sandbox, found: Examination) -> None:
    started = time.perf_counter()
    try:
        artefact = sandbox.compile(wasm)
    except BlockRefused as refusal:
        for fault in refusal.faults:
            found.error(fault)
        return
    found.facts["compile_ms"] = _ms_since(started)
    found.facts["compiled_bytes"] = artefact.size_bytes


def _try_out(wasm: bytes, sandbox: Sandbox, found: Examination, trial_s_max: float) -> None:
    """Let a module that keeps the contract run up to its first command."""
    try:
        block = sandbox.admit(wasm)
    except BlockRefused as refusal:
        for fault in refusal.faults:
            found.error(fault)
        return
    found.facts |= {
        "digest": block.digest,
        "abi_version": block.abi_version,
        "signature": str(block.signature),
        "memory_bytes_min": block.memory_bytes_min,
        "wants_tokens": block.wants_tokens,
    }
    if "cf_signature" not in block.exports:
        message = (
            "it declares no types (cf_signature), so a host cannot check inputs and results for it"
        )
        found.warn(Fault(FaultKind.UNTYPED, "cf_signature", message))
    if block.memory_bytes_min <= Limits().memory_bytes:
        _first_command(block, sandbox, found, trial_s_max)


def _first_command(block: Block, sandbox: Sandbox, found: Examination, trial_s_max: float) -> None:
    value = sample_of(block.signature.input)
    sample = dump_json(value)
    shown = printable(sample.decode())
    guest = sandbox.open_guest(block, GuestLimits())
    alarm = threading.Timer(trial_s_max, guest.interrupt)
    alarm.daemon = True
    alarm.start()
    started = time.perf_counter()
    try:
        reply = guest.init(sample)
        found.facts["first_command_ms"] = _ms_since(started)
        command = decode_command(reply)
        found.facts["first_command"] = (
            f"fail, {printable(command.code)}" if isinstance(command, Fail) else command.cmd
        )
        found.facts["memory_bytes_used"] = guest.accounting.memory_bytes_peak
    except Interrupted:
        within = f"{trial_s_max:g} s on the input {shown}"
        message = f"cf_init does not return within {within}: an endless loop?"
        found.error(Fault(FaultKind.ENDLESS, "cf_init", message))
    except MalformedMessage as error:
        message = f"what cf_init returns on the input {shown} is no command: {error}"
        found.error(Fault(FaultKind.COMMAND, "cf_init", message))
    except JobError as error:
        _first_job_ended(error, shown, found)
    finally:
        alarm.cancel()
        alarm.join()
        guest.close()


def _first_job_ended(error: JobError, sample: str, found: Examination) -> None:
    message = f"on the input {sample}: {error.message}"
    kind = error.fault or FaultKind.HOST
    if kind is FaultKind.TRAP:
        # What was made up may be no input that it can take; a broken address is its own fault.
        hint = "let it answer `fail` to an input that it cannot take"
        found.warn(Fault(kind, "cf_init", f"{message}; {hint}"))
    else:
        found.error(Fault(kind, "cf_init", message))


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
