"""Files of editors are told by their names."""

import pytest

from cuttlebone.files.temporary import is_temporary


@pytest.mark.parametrize(
    "name",
    [
        ".block.c.swp",
        ".#block.c",
        "#block.c#",
        "block.c~",
        "block~",
        "4913",
        "block.c.swp",
        "block.c.bak",
        "block.c.orig",
        "block.c.tmp",
        "block.c.tmp.4242.1732",
        "block.c.tmp1f00",
        "block.tmp-1f.c",
        "block.c___jb_tmp___",
        "block.c___jb_old___",
        "sedA1b2C3",
        ".~lock.block.c#",
        "block.c.kate-swp",
        "block.c.crswap",
    ],
)
def test_these_are_of_editors(name: str) -> None:
    assert is_temporary(name)


@pytest.mark.parametrize(
    "name",
    [
        "block.c",
        "main.zig",
        "lib.rs",
        "one.json",
        "a-1.json",
        "4913.c",
        "template.c",
        "a.template.c",
        "sed.c",
        "sedate",
    ],
)
def test_these_are_of_people(name: str) -> None:
    assert not is_temporary(name)
