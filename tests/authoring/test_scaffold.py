"""A new block builds and passes its own cases at once, in every language."""

import shutil
from pathlib import Path

import pytest

from cuttlebone.authoring.building import build
from cuttlebone.authoring.doctor import examine
from cuttlebone.authoring.folder import Language, open_folder
from cuttlebone.authoring.scaffold import TEMPLATES, new_block
from cuttlebone.authoring.suite import BOTH_MODES, read_suite
from cuttlebone.authoring.trial import trial_settings
from cuttlebone.errors import OperatorError
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Isolation, Settings
from guest_examples.languages import EXAMPLES, need


def test_every_language_has_a_template() -> None:
    assert all((TEMPLATES / language).is_dir() for language in Language)


@pytest.mark.parametrize("language", Language)
def test_a_new_block_builds_passes_its_cases_and_has_nothing_wrong_with_it(
    tmp_path: Path, language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(language)
    # Crates that the examples have compiled need not be compiled again.
    monkeypatch.setenv("CARGO_TARGET_DIR", str(EXAMPLES / "rust" / "target"))
    new_block("my-block", language, tmp_path)
    _lend_packages(language, tmp_path / "my-block")
    folder = open_folder(tmp_path / "my-block")

    module = build(folder)
    settings = trial_settings(Settings(cache=tmp_path / "cache"))
    verdicts = list(read_suite(folder, settings).run(BOTH_MODES))

    assert {verdict.case: verdict.difference for verdict in verdicts if not verdict.ok} == {}
    assert len(verdicts) == 4
    with Sandbox(isolation=Isolation.THREAD) as sandbox:
        found = examine(module.read_bytes(), sandbox)
    assert [finding.message for finding in found.findings] == []
    assert found.facts["first_command"] == "open"


@pytest.mark.parametrize("language", [Language.C, Language.ZIG, Language.ASSEMBLYSCRIPT])
def test_a_block_with_names_is_no_more_than_its_names_larger(
    tmp_path: Path, language: Language
) -> None:
    need(language)
    new_block("my-block", language, tmp_path)
    _lend_packages(language, tmp_path / "my-block")
    folder = open_folder(tmp_path / "my-block")
    plain = build(folder).read_bytes()

    named = build(folder, names=True).read_bytes()

    with Sandbox(isolation=Isolation.THREAD) as sandbox:
        facts = examine(named, sandbox).facts
        assert examine(plain, sandbox).facts["names_functions"] is False
    assert facts["names_functions"] is True
    assert [name for name in facts["sections"] if name.startswith(".debug")] == []
    assert len(named) < len(plain) + 8_192


@pytest.mark.parametrize("name", ["", "Block", "1block", "a b", "a/b", "-a", "a.b", "a" * 65, "ä"])
def test_a_name_that_no_block_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OperatorError, match="is no name for a block"):
        new_block(name, Language.C, tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()

    with pytest.raises(OperatorError, match="is there already"):
        new_block("mine", Language.C, tmp_path)

    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize("language", Language)
def test_nothing_is_left_to_fill_in(tmp_path: Path, language: Language) -> None:
    files = new_block("my-block", language, tmp_path)

    own = [file for file in files if "sdk" not in file.relative_to(tmp_path).parts]
    assert [file for file in own if "{{" in file.read_text()] == []
    readme = (tmp_path / "my-block" / "README.md").read_text()
    assert "cuttlebone block test ." in readme
    assert (tmp_path / "my-block" / "my-block.yaml") in files


def _lend_packages(language: Language, folder: Path) -> None:
    """Instead of `npm install`, which needs the network: the compiler of the examples, and the SDK."""
    if language is not Language.ASSEMBLYSCRIPT:
        return
    modules = folder / "node_modules"
    modules.mkdir()
    for package in (EXAMPLES / "assemblyscript" / "node_modules").iterdir():
        if package.name != "cuttlebone":
            (modules / package.name).symlink_to(package)
    shutil.copytree(folder / "sdk", modules / "cuttlebone")
