"""Building a block's module with the toolchain of its language, or saying what to install."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, assert_never

from pydantic import BaseModel, ValidationError

from cuttlebone.authoring.anatomy import without_debug
from cuttlebone.authoring.folder import BlockFolder, Language, sources
from cuttlebone.authoring.rust import find_rust
from cuttlebone.authoring.sdk import sdk_folder
from cuttlebone.errors import OperatorError

ZIGLANG: Final = (sys.executable, "-m", "ziglang")

# The stack of 64 KiB replaces ziglang's 1 MiB, which would be most of the memory of a small guest.
C_FLAGS: Final = (
    "-target", "wasm32-freestanding", "-Oz", "-Wall", "-Wextra",
    "-Wl,--no-entry", "-Wl,-z,stack-size=65536",
)  # fmt: skip
ZIG_FLAGS: Final = (
    "-target", "wasm32-freestanding", "-O", "ReleaseSmall", "-fno-entry", "-rdynamic",
    "--stack", "65536",
)  # fmt: skip
ASSEMBLYSCRIPT_FLAGS: Final = ("-Oz", "--runtime", "minimal", "--use", "abort=")

NAMES_FLAGS: Final[Mapping[Language, str]] = {
    Language.C: "-g1",
    Language.ZIG: "-fno-strip",
    Language.ASSEMBLYSCRIPT: "--debug",
}
"""What keeps the names of functions, beside much else that is taken out again. Rust keeps them anyway."""

_NO_ZIGLANG: Final = "the compiler for {} is missing; install it: pip install ziglang==0.17.1"
_NO_ASC: Final = "the AssemblyScript compiler is missing; run `npm install` in {}"


class BuildFailed(Exception):
    """A compiler refused the sources; it has said why on stderr."""


@dataclass(frozen=True, slots=True)
class Tools:
    """How the parts of a toolchain are found; tests put others in their place."""

    which: Callable[[str], str | None] = shutil.which
    has_ziglang: Callable[[], bool] = lambda: find_spec("ziglang") is not None


def build(folder: BlockFolder, tools: Tools = Tools(), *, names: bool = False) -> Path:
    """Compile the module of a folder and return where it lies.

    With `names` it has the names of its functions, which the message of a trap then tells. Raises
    OperatorError for a toolchain that is missing, and BuildFailed.
    """
    flag = NAMES_FLAGS.get(folder.language) if names else None
    more = () if flag is None else (flag,)
    output = folder.module.resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    match folder.language:
        case Language.C:
            _run([*c_command(folder.path, output, tools), *more], folder.path)
        case Language.ZIG:
            _run(zig_command(folder.path, output, tools, more), folder.path)
        case Language.ASSEMBLYSCRIPT:
            _run([*assemblyscript_command(folder.path, output, tools), *more], folder.path)
        case Language.RUST:
            shutil.copyfile(_build_rust(folder.path, tools), output)
        case language:
            assert_never(language)
    if names:
        output.write_bytes(without_debug(output.read_bytes()))
    return output


def c_command(path: Path, output: Path, tools: Tools) -> Sequence[str]:
    """The command that compiles C and C++; raises OperatorError without ziglang."""
    if not tools.has_ziglang():
        raise OperatorError(_NO_ZIGLANG.format("C"))
    # Named relative to their own folder: no path of this machine can get into the module.
    files = [file.name for file in sources(path, Language.C)]
    driver = "c++" if any(name.endswith(".cpp") for name in files) else "cc"
    folders = ("-I.", "-Isdk", f"-I{sdk_folder(Language.C)}")
    return [*ZIGLANG, driver, *C_FLAGS, *folders, *files, "-o", str(output)]


def zig_command(path: Path, output: Path, tools: Tools, more: Sequence[str] = ()) -> Sequence[str]:
    """The command that compiles Zig, with `more` flags; raises OperatorError without ziglang."""
    if not tools.has_ziglang():
        raise OperatorError(_NO_ZIGLANG.format("Zig"))
    own = path / "sdk" / "cuttlebone.zig"
    sdk = "sdk/cuttlebone.zig" if own.is_file() else sdk_folder(Language.ZIG) / "cuttlebone.zig"
    root = _root_of([file.name for file in sources(path, Language.ZIG)])
    modules = ("--dep", "cuttlebone", f"-Mroot={root}", f"-Mcuttlebone={sdk}")
    return [*ZIGLANG, "build-exe", *ZIG_FLAGS, *more, *modules, f"-femit-bin={output}"]


def assemblyscript_command(path: Path, output: Path, tools: Tools) -> Sequence[str]:
    """The command that compiles AssemblyScript; raises OperatorError without its compiler."""
    places = [
        folder / "node_modules" / ".bin" / "asc"
        for folder in (path.resolve(), *path.resolve().parents)
    ]
    asc = next((str(file) for file in places if file.exists()), None) or tools.which("asc")
    if asc is None:
        raise OperatorError(_NO_ASC.format(path))
    entry = sources(path, Language.ASSEMBLYSCRIPT)[0].relative_to(path)
    if (path / "asconfig.json").is_file():
        return [asc, str(entry), "--config", "asconfig.json", "--outFile", str(output)]
    return [asc, str(entry), *ASSEMBLYSCRIPT_FLAGS, "--outFile", str(output)]


def _root_of(names: Sequence[str]) -> str:
    """The file that a Zig module starts from: `main.zig`, or the only one."""
    return "main.zig" if "main.zig" in names or len(names) != 1 else names[0]


class _Target(BaseModel):
    kind: list[str]


class _Artefact(BaseModel):
    """A line of `cargo build --message-format=json` about something that was built."""

    reason: str
    target: _Target
    filenames: list[str]


def _build_rust(path: Path, tools: Tools) -> Path:
    rust = find_rust(tools.which)
    told = _run(rust.command(), path, rust.environment)
    built = [name for line in told.splitlines() for name in _modules_in(line)]
    if not built:
        raise OperatorError(
            f'{path / "Cargo.toml"} builds no module; it needs `[lib]` with crate-type = ["cdylib"]'
        )
    return Path(built[-1])


def _modules_in(line: str) -> list[str]:
    try:
        artefact = _Artefact.model_validate_json(line)
    except ValidationError:
        return []  # a line about something else
    return [name for name in artefact.filenames if name.endswith(".wasm")]


def _run(command: Sequence[str], folder: Path, more: Mapping[str, str] | None = None) -> str:
    """Run a compiler in a folder and return its stdout; its messages go to ours. Raises BuildFailed."""
    done = subprocess.run(  # noqa: S603  # the author's own toolchain
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1", **(more or {})},
    )
    if done.returncode:
        raise BuildFailed(f"{_compiler_of(command)} ended with status {done.returncode}")
    return done.stdout


def _compiler_of(command: Sequence[str]) -> str:
    """What an author knows the program as: not by the Python that starts it."""
    return ZIGLANG[-1] if tuple(command[: len(ZIGLANG)]) == ZIGLANG else Path(command[0]).name
