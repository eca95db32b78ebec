"""The pages that lead through the source name what is there."""

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
DECISIONS: Final = DOCS / "decisions"
GUIDES: Final = (ROOT / "CONTRIBUTING.md", *sorted(DECISIONS.glob("*.md")))

_PATH: Final = re.compile(
    r"`((?:abi|docs|guest-examples|host|tests)/[\w./-]*|[A-Z]+\.md|\.ci/run)`"
)
_TEST: Final = re.compile(r"`(tests/[\w./-]+\.py)::(\w+)`")
_COMMAND: Final = re.compile(r"`(?:python|pytest) ((?:tests)/[\w./-]+)")
_LINK: Final = re.compile(r"\]\(([^)#:]+)(?:#[\w-]+)?\)")
_TREE_LINE: Final = re.compile(r"^(?P<indent> *)(?P<names>\S.*?)(?:  |$)")


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_path_that_a_guide_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = _PATH.findall(text) + _COMMAND.findall(text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_contributing_leads_through_enough_of_the_source_to_be_a_guide() -> None:
    named = set(_PATH.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert len(named) > 40


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    linked = _LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in linked if not (page.parent / link).exists()] == []


def test_every_path_of_the_tree_in_architecture_is_there() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    tree = page.split("## The tree")[1].split("```")[1]
    assert [path for path in tree_paths(tree) if not path.exists()] == []


def tree_paths(tree: str) -> list[Path]:
    """The files and folders of a drawn tree: what is indented is in the folder above it."""
    paths: list[Path] = []
    top = ROOT
    for line in tree.strip().splitlines():
        match = _TREE_LINE.match(line)
        assert match is not None
        names = [name for name in match["names"].split() if name.endswith(("/", ".py"))]
        if match["indent"]:
            paths.extend(top / name for name in names)
        else:
            top = ROOT / names[0]
            paths.append(top)
    return paths


def test_architecture_names_files_that_are_there() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "host" / "cuttlebone"
    named = [name for name in re.findall(r"`([\w/]+\.py)`", page) if "/" in name]
    assert named
    assert [name for name in named if not (package / name).exists()] == []


def test_every_decision_is_in_the_index_and_has_all_its_parts() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    records = [page for page in DECISIONS.glob("*.md") if page.name != "README.md"]
    assert len(records) >= 10
    for page in records:
        assert f"]({page.name})" in index
        text = page.read_text(encoding="utf-8")
        for part in (
            "**Context.**",
            "**Decision.**",
            "**Consequences.**",
            "**How it was measured.**",
            "**What would change it.**",
        ):
            assert part in text, (page.name, part)


@pytest.mark.parametrize("page", ["durability.md", "inference.md"])
def test_every_test_that_a_promise_names_is_there(page: str) -> None:
    named = _TEST.findall((DOCS / page).read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [
        f"{path}::{name}"
        for path, name in named
        if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")
    ] == []
