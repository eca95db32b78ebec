"""Every feature of WebAssembly that docs/abi.md calls on runs, in the thread of the job and in a process."""

import re
from pathlib import Path
from typing import Final

import pytest

from sandbox.wat import COMMAND, Opener, block

ABI: Final = (Path(__file__).parents[2] / "docs" / "abi.md").read_text()

USES: Final = {
    "bulk memory": block(
        init="(memory.fill (i32.const 4096) (i32.const 7) (i32.const 9)) (i32.const 16)"
    ),
    "multiple values": block(
        init="(call $two) (drop)",
        extra="(func $two (result i32 i32) (i32.const 16) (i32.const 5))",
    ),
    "reference types": block(
        init="""(table.set $kept (i32.const 1) (global.get $one)) (table.set $calls (i32.const 0) (ref.func $nop))
            (drop (table.grow $kept (ref.null extern) (i32.const 5)))
            (global.set $one (table.get $kept (i32.const 6))) (i32.const 16)""",
        extra="""(table $kept 2 externref) (table $calls 1 funcref) (func $nop) (elem declare func $nop)
            (global $one (mut externref) (ref.null extern))""",
    ),
    "sign extension": block(init="(drop (i32.extend8_s (i32.const 255))) (i32.const 16)"),
    "non-trapping conversions": block(
        init="(drop (i32.trunc_sat_f32_s (f32.const nan))) (i32.const 16)"
    ),
    "mutable globals": block(
        init="(global.set $count (i32.const 5)) (i32.const 16)",
        extra='(global $count (export "count") (mut i32) (i32.const 0))',
    ),
}


def test_each_feature_that_is_on_is_tried() -> None:
    listed = re.search(r"Besides the MVP: ([^.]*)\.", ABI)
    assert listed is not None
    assert re.split(r",\s+", listed[1].replace("\n", " ")) == list(USES)


@pytest.mark.parametrize("feature", USES)
def test_a_feature_that_is_on_runs(opener: Opener, feature: str) -> None:
    assert opener(USES[feature]).init(b"null").decode() == COMMAND
