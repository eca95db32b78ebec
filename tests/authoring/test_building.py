"""Which toolchain a folder is built with, and what is said when it is missing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cuttlebone.authoring.building import BuildFailed, Tools, build
from cuttlebone.authoring.folder import BlockFolder, Language, open_folder
from cuttlebone.errors import OperatorError

NOTHING = Tools(which=lambda _: None, has_ziglang=lambda: False)
SPEC = "name: {name}\ndescription: A block.\nblock: block.wasm\n"


def folder_with(path: Path, *files: str) -> BlockFolder:
    for name in files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).touch()
    (path / "block.yaml").write_text(SPEC.format(name="block"))
    return open_folder(path)


@pytest.mark.parametrize(
    ("files", "language"),
    [
        (["a.c"], Language.C),
        (["a.cpp", "b.c"], Language.C),
        (["main.zig"], Language.ZIG),
        (["Cargo.toml", "src/lib.rs"], Language.RUST),
        (["Cargo.toml", "glue.c"], Language.RUST),
        (["assembly/index.ts"], Language.ASSEMBLYSCRIPT),
    ],
)
def test_the_language_is_told_by_the_sources(
    tmp_path: Path, files: Sequence[str], language: Language
) -> None:
    assert folder_with(tmp_path, *files).language is language


@pytest.mark.parametrize(
    ("files", "said"), [([], "has no sources"), (["a.c", "b.zig"], "has c and zig sources")]
)
def test_a_folder_of_no_or_several_languages_is_refused(
    tmp_path: Path, files: Sequence[str], said: str
) -> None:
    with pytest.raises(OperatorError, match=said):
        build(folder_with(tmp_path, *files))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("block.c", "pip install ziglang"),
        ("main.zig", "pip install ziglang"),
        ("Cargo.toml", "cargo is missing; install Rust with the target wasm32-unknown-unknown"),
        ("assembly/index.ts", "npm install"),
    ],
)
def test_a_missing_toolchain_is_named_with_its_package(
    tmp_path: Path, source: str, said: str
) -> None:
    with pytest.raises(OperatorError) as refused:
        build(folder_with(tmp_path, source), NOTHING)

    assert said in str(refused.value)


def test_sources_that_do_not_compile_are_a_failed_build(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path, "block.c")
    (tmp_path / "block.c").write_text("int x = ;")

    with pytest.raises(BuildFailed, match=r"^ziglang ended with status 1$"):
        build(folder)

    assert "block.c:1:9: error" in capfd.readouterr().err


def test_a_folder_without_a_spec_says_so(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="there is no spec"):
        open_folder(tmp_path)
    with pytest.raises(OperatorError, match="there is no folder"):
        open_folder(tmp_path / "none")


def test_among_several_specs_the_one_with_the_name_of_the_folder_counts(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(SPEC.format(name=name))
    with pytest.raises(OperatorError, match=r"has several specs \(one.yaml, two.yaml\)"):
        open_folder(tmp_path)

    (tmp_path / f"{tmp_path.name}.yaml").write_text(SPEC.format(name="three"))
    assert open_folder(tmp_path).spec.name == "three"
