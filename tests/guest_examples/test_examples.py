"""Every example in every language does what its cases say, as committed and as built anew."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.authoring.building import build
from cuttlebone.authoring.case import case_files
from cuttlebone.authoring.folder import Language, open_folder
from cuttlebone.authoring.suite import BOTH_MODES, read_suite
from cuttlebone.authoring.trial import trial_settings
from cuttlebone.settings import Isolation, Settings
from guest_examples.languages import EXAMPLES, MIRRORS, examples, need
from guest_examples.modules import ROOT, Compile

REPRODUCIBLE = {Language.C, Language.ZIG, Language.ASSEMBLYSCRIPT}
"""Languages whose compiler is pinned. Rust's is whatever a machine has, so its modules only behave alike."""
ALL = [(language, folder) for language in Language for folder in examples(language)]
each_example = pytest.mark.parametrize(
    ("language", "folder"), ALL, ids=[f"{language}-{folder.name}" for language, folder in ALL]
)
with_cases = pytest.mark.parametrize(
    "folder",
    [folder for _, folder in ALL if (folder / "cases").is_dir()],
    ids=lambda folder: f"{folder.parent.name}-{folder.name}",
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return trial_settings(Settings(cache=tmp_path / "cache"))


@pytest.mark.parametrize("isolation", BOTH_MODES)
@with_cases
def test_the_committed_module_passes_its_cases(
    folder: Path, isolation: Isolation, settings: Settings
) -> None:
    verdicts = list(read_suite(open_folder(folder), settings).run([isolation]))

    assert {one.case: one.difference for one in verdicts if not one.ok} == {}
    assert verdicts


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of what examples are built from, so that nothing built reaches the repository."""
    for part in ("abi/sdk", "guest-examples", "tests/sdk"):
        shutil.copytree(
            ROOT / part,
            tmp_path / part,
            ignore=shutil.ignore_patterns("target", "node_modules"),
        )
    for modules in ("guest-examples/assemblyscript/node_modules", "guest-examples/rust/target"):
        if (ROOT / modules).is_dir():
            (tmp_path / modules).symlink_to(ROOT / modules)
    return tmp_path


@pytest.mark.timeout(scaled(900))  # the first build of a Rust crate also builds serde
@each_example
def test_the_committed_module_is_what_its_source_builds_to(
    language: Language, folder: Path, clone: Path, settings: Settings
) -> None:
    need(language)
    copy = open_folder(clone / folder.relative_to(ROOT))

    module = build(copy)

    if language in REPRODUCIBLE:
        assert module.read_bytes() == (folder / module.name).read_bytes()
    else:
        verdicts = list(read_suite(copy, settings).run([Isolation.THREAD]))
        assert {one.case: one.difference for one in verdicts if not one.ok} == {}


@pytest.mark.parametrize("folder", examples(Language.C), ids=lambda folder: folder.name)
def test_an_example_in_c_compiles_without_a_warning(folder: Path, compile_c: Compile) -> None:
    assert compile_c(folder / f"{folder.name}.c")


@each_example
def test_the_committed_module_has_no_path_of_the_machine_that_built_it(
    language: Language, folder: Path
) -> None:
    module = open_folder(folder).module.read_bytes()

    for path in (b"/home/", b"/root/", b"/tmp/", bytes(ROOT), b"registry/src"):
        assert path not in module, language


def cases_of(folder: Path) -> Mapping[str, object]:
    return {path.name: json.loads(path.read_text()) for path in case_files(folder)}


@pytest.mark.parametrize(
    "name", sorted({folder.name for language, folder in ALL if language is not Language.C})
)
def test_an_example_has_the_same_cases_in_every_language(name: str) -> None:
    found = [EXAMPLES / language / name for language in Language]
    cases = [cases_of(folder) for folder in found if (folder / "cases").is_dir()]

    assert all(one == cases[0] for one in cases)


def test_every_example_and_mirror_has_what_a_reader_needs() -> None:
    for _, folder in ALL:
        assert (folder / "README.md").is_file(), folder
    assert (MIRRORS / "README.md").is_file()


def test_every_language_has_two_examples_and_c_and_rust_have_all() -> None:
    names = {language: {folder.name for folder in examples(language)} for language in Language}

    assert all(len(found) >= 2 for found in names.values())
    assert (
        names[Language.C]
        == names[Language.RUST]
        == {"ask", "classify", "extract", "grep", "summarize"}
    )
