"""A folder for a new block: source, spec, cases and a copy of the SDK, that builds and passes at once."""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cuttlebone.authoring.folder import Language
from cuttlebone.authoring.sdk import sdk_folder
from cuttlebone.errors import OperatorError
from cuttlebone.text import printable

TEMPLATES: Final = Path(__file__).parent / "templates"

# What both a spec and a Rust package may be called.
_NAME: Final = re.compile(r"[a-z](?:[a-z0-9_-]{0,62}[a-z0-9])?")
_COMMON: Final = "all"
_RENAMED: Final = {
    "spec.yaml": "{name}.yaml",
    "gitignore": ".gitignore",
    "cargo-config.toml": ".cargo/config.toml",
}
"""Template files that have another name in a new folder."""


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What the templates say differently for each language."""

    title: str
    source: str
    toolchain: str
    ignored: str
    sdk: tuple[str, ...]
    """The parts of the SDK that a block needs."""
    beside: tuple[str, ...] = ()
    """The parts that it needs in its own folder."""


_ZIGLANG: Final = "The compiler comes from PyPI: `pip install ziglang==0.17.1`."
_DIALECTS: Final[Mapping[Language, _Dialect]] = {
    Language.C: _Dialect("C", "block.c", _ZIGLANG, "*.wasm", ("cuttlebone.h",)),
    Language.RUST: _Dialect(
        "Rust",
        "src/lib.rs",
        "It takes cargo and the target wasm32-unknown-unknown: `rustup target add "
        "wasm32-unknown-unknown`, or on Debian `apt install cargo rustc libstd-rust-dev-wasm32 lld`.",
        "*.wasm\ntarget/",
        ("Cargo.toml", "src"),
        # Versions that the oldest supported Rust can compile.
        ("Cargo.lock",),
    ),
    Language.ZIG: _Dialect(
        "Zig", "main.zig", _ZIGLANG, "*.wasm\n.zig-cache/\nzig-out/", ("cuttlebone.zig",)
    ),
    Language.ASSEMBLYSCRIPT: _Dialect(
        "AssemblyScript",
        "assembly/index.ts",
        "The compiler comes from npm: `npm install` in this folder.",
        "*.wasm\nnode_modules/",
        ("package.json", "assembly"),
    ),
}


def new_block(name: str, language: Language, parent: Path) -> list[Path]:
    """Make the folder `parent/name` and return the files in it.

    Raises OperatorError for a name that no block can have and a folder that is there already.
    """
    if not _NAME.fullmatch(name):
        raise OperatorError(
            f"{printable(repr(name))} is no name for a block: take lower-case letters, digits, `-` "
            "and `_`, beginning with a letter, at most 64"
        )
    folder = parent / name
    sdk = sdk_folder(language)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise OperatorError(f"{folder} is there already; choose another name") from None
    dialect = _DIALECTS[language]
    words = {
        "name": name,
        "language": dialect.title,
        "source": dialect.source,
        "toolchain": dialect.toolchain,
        "ignored": dialect.ignored,
    }
    for origin in (TEMPLATES / _COMMON, TEMPLATES / language):
        for file in _files(origin):
            _write(folder / _renamed(file.relative_to(origin), name), file, words)
    _copy(sdk, dialect.sdk, folder / "sdk")
    _copy(sdk, dialect.beside, folder)
    return list(_files(folder))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _renamed(relative: Path, name: str) -> Path:
    if relative.name not in _RENAMED:
        return relative
    return relative.parent / _RENAMED[relative.name].format(name=name)


def _write(target: Path, template: Path, words: Mapping[str, str]) -> None:
    text = template.read_text(encoding="utf-8")
    for key, word in words.items():
        text = text.replace("{{" + key + "}}", word)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _copy(source: Path, parts: tuple[str, ...], target: Path) -> None:
    target.mkdir(exist_ok=True)
    for part in parts:
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part)
        else:
            shutil.copyfile(source / part, target / part)
