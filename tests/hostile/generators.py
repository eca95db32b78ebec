"""Attacks that are too large, or too malformed, to be written down as text: one function each."""

from collections.abc import Callable
from typing import Final

from hostile.encoder import (
    CODE,
    DATA,
    ELEMENT,
    FUNCTION,
    GLOBAL,
    HEADER,
    I32,
    IMPORT,
    MEMORY,
    START,
    TABLE,
    TYPE,
    block_with,
    body,
    export,
    function_type,
    guest_that_says,
    local_groups,
    module,
    name,
    section,
    u32,
    vector,
)

NOTHING: Final = function_type()
DONE: Final = b'{"cmd":"done","result":%s}'


def nested(depth: int) -> bytes:
    return body(b"\x02\x40" * depth + b"\x0b" * depth + b"\x20\0")


def branches_over_locals(count: int, branches: int) -> bytes:
    """Every branch writes another local: the compiler joins all of them after each."""
    code = b"".join(
        b"\x20\0\x04\x40\x41\1\x21"
        + u32(1 + at % count)
        + b"\x05\x41\2\x21"
        + u32(1 + at % count)
        + b"\x0b"
        for at in range(branches)
    )
    used = b"\x20\0" + b"".join(b"\x20" + u32(1 + at) + b"\x6a" for at in range(count))
    return body(code + used, local_groups(count))


def loops_over_locals(depth: int) -> bytes:
    """Loops in loops, each of which writes a local that the outer ones read."""
    count = 50
    opened = b"".join(
        b"\x03\x40\x20" + u32(1 + at % count) + b"\x41\1\x6a\x21" + u32(1 + at % count)
        for at in range(depth)
    )
    closed = b"".join(b"\x20" + u32(1 + at % count) + b"\x0d\0\x0b" for at in range(depth))
    return body(opened + closed + b"\x20\1", local_groups(count))


def wide_branch(targets: int) -> bytes:
    """Tables of branches to a thousand blocks."""
    depth = 1000
    table = (
        b"\x20\0\x0e" + u32(targets) + b"".join(u32(at % depth) for at in range(targets)) + b"\0"
    )
    return body(b"\x02\x40" * depth + table + b"\x0b" * depth + b"\x20\0")


def chain(length: int) -> bytes:
    """One long chain of multiplications."""
    return body(b"\x20\0\x41\3\x6c\x21\0" * length + b"\x20\0")


GENERATED: Final[dict[str, Callable[[], bytes]]] = {
    # --- not modules -------------------------------------------------------------------------
    "nothing_at_all": lambda: b"",
    "zeros": lambda: bytes(4096),
    "an_elf_file": lambda: b"\x7fELF\2\1\1" + bytes(57),
    "a_script": lambda: b"#!/bin/sh\nrm -rf /\n",
    "escapes": lambda: b"\x1b[2J\x1b]0;owned\x07",
    "text_instead_of_binary": lambda: b'(module (memory (export "memory") 1))',
    "text_with_comment": lambda: b";; a block\n(module)",
    "a_component": lambda: b"\0asm\x0d\0\1\0",
    "another_version": lambda: b"\0asm\2\0\0\0",
    "half_a_header": lambda: b"\0asm",
    "a_compiled_module": lambda: b"\x7fELF\2\1\1" + b"wasmtime" * 100,
    "module_of_17_mebibytes": lambda: HEADER + bytes(17 << 20),
    # --- malformed ---------------------------------------------------------------------------
    "truncated_in_a_section": lambda: block_with()[:-10],
    "truncated_in_a_length": lambda: HEADER + b"\1\x80",
    "number_too_long": lambda: HEADER + b"\1\x80\x80\x80\x80\x80\x01",
    "number_over_32_bits": lambda: HEADER + b"\1\xff\xff\xff\xff\x1f",
    "section_past_the_end": lambda: HEADER + b"\1\xff\xff\xff\xff\x0f",
    "section_unknown": lambda: module(section(42, b"")),
    "section_twice": lambda: module(section(TYPE, vector([NOTHING])) * 2),
    "section_out_of_order": lambda: module(
        section(FUNCTION, vector([])), section(TYPE, vector([]))
    ),
    "vector_longer_than_its_section": lambda: module(section(TYPE, u32(9) + NOTHING)),
    "function_without_body": lambda: module(
        section(TYPE, vector([NOTHING])), section(FUNCTION, vector([b"\0"]))
    ),
    "body_without_function": lambda: module(section(CODE, vector([body(b"")]))),
    "body_past_its_section": lambda: module(section(CODE, vector([u32(99) + b"\0\x0b"]))),
    "type_that_does_not_exist": lambda: block_with().replace(b"\3\4\3\0\1\1", b"\3\4\3\0\1\x09"),
    "export_of_a_function_that_does_not_exist": lambda: block_with(
        extra_exports=[export("x", 0, 99)]
    ),
    "export_of_an_unknown_kind": lambda: block_with(extra_exports=[export("x", 77, 0)]),
    "export_twice": lambda: block_with(extra_exports=[export("cf_init", 0, 2)]),
    "export_name_not_utf8": lambda: block_with(extra_exports=[export(b"\xff\xfe", 0, 0)]),
    "import_of_an_unknown_kind": lambda: module(
        section(IMPORT, vector([name("a") + name("b") + b"\x4d\0"]))
    ),
    "value_type_unknown": lambda: module(section(TYPE, vector([function_type(b"\x01")]))),
    "start_that_does_not_exist": lambda: module(section(START, u32(7))),
    "code_of_an_unknown_instruction": lambda: block_with(bodies=[body(b"\xff\x20\0")]),
    "code_that_leaves_the_stack_empty": lambda: block_with(bodies=[body(b"\x1a")]),
    "code_without_end": lambda: block_with(bodies=[u32(3) + b"\0\x20\0"]),
    "branch_to_nowhere": lambda: block_with(bodies=[body(b"\x0c\x63\x20\0")]),
    # --- floods ------------------------------------------------------------------------------
    "flood_of_types": lambda: module(section(TYPE, vector([NOTHING] * 5000))),
    "flood_of_parameters": lambda: module(section(TYPE, vector([function_type(I32 * 1500)]))),
    "flood_of_imports": lambda: module(
        section(TYPE, vector([NOTHING])),
        section(IMPORT, vector([name("m") + name(f"f{at}") + b"\0\0" for at in range(9000)])),
    ),
    "flood_of_functions": lambda: block_with(bodies=[body(b"\x20\0")] * 30_000),
    "flood_of_tables": lambda: module(section(TABLE, vector([b"\x70\0\1"] * 50))),
    "flood_of_memories": lambda: module(section(MEMORY, vector([b"\0\1"] * 100))),
    "flood_of_globals": lambda: module(section(GLOBAL, vector([b"\x7f\1\x41\0\x0b"] * 9000))),
    "flood_of_exports": lambda: block_with(
        extra_exports=[export(f"f{at}", 0, 0) for at in range(5000)]
    ),
    "flood_of_elements": lambda: module(section(ELEMENT, vector([b"\0\x41\0\x0b\0"] * 9000))),
    "flood_of_data": lambda: module(section(DATA, vector([b"\0\x41\0\x0b\0"] * 70_000))),
    "flood_of_custom_sections": lambda: module(section(0, b"\1x") * 200_000),
    "flood_of_locals": lambda: block_with(bodies=[body(b"\x20\0", local_groups(50_000))]),
    "flood_of_locals_of_4_billion": lambda: block_with(
        bodies=[body(b"\x20\0", local_groups(0xFFFFFFFF, 0xFFFFFFFF))]
    ),
    "flood_of_groups_of_locals": lambda: block_with(
        bodies=[body(b"\x20\0", local_groups(*[1] * 9000))] * 30
    ),
    "export_name_of_a_mebibyte": lambda: block_with(extra_exports=[export("n" * (1 << 20), 0, 0)]),
    "import_name_of_a_mebibyte": lambda: module(
        section(IMPORT, vector([name("m" * (1 << 20)) + name("f") + b"\0\0"]))
    ),
    "function_body_of_2_mebibytes": lambda: block_with(bodies=[chain(300_000)]),
    "code_of_9_mebibytes": lambda: block_with(bodies=[chain(149_000)] * 9),
    # --- compile bombs -----------------------------------------------------------------------
    "bomb_of_branches_over_locals": lambda: block_with(
        bodies=[branches_over_locals(9_000, 30_000)]
    ),
    "bomb_of_loops_over_locals": lambda: block_with(bodies=[loops_over_locals(40_000)]),
    "bomb_of_wide_branches": lambda: block_with(bodies=[wide_branch(200_000)]),
    "bomb_of_nested_blocks": lambda: block_with(bodies=[nested(250_000)]),
    "bomb_of_long_functions": lambda: block_with(bodies=[chain(140_000)] * 7),
    # --- guests that say too much ------------------------------------------------------------
    "says_a_name_of_a_mebibyte": lambda: guest_that_says(
        b'{"cmd":"' + b"n" * ((1 << 20) - 20) + b'"}'
    ),
    "says_a_key_of_a_mebibyte": lambda: guest_that_says(
        b'{"cmd":"done","result":1,"' + b"k" * ((1 << 20) - 60) + b'":1}'
    ),
    "says_129_arrays": lambda: guest_that_says(DONE % (b"[" * 128 + b"]" * 128)),
    "says_128_arrays": lambda: guest_that_says(DONE % (b"[" * 127 + b"]" * 127)),
    "says_129_objects": lambda: guest_that_says(DONE % (b'{"a":' * 128 + b"1" + b"}" * 128)),
    "says_400_000_arrays": lambda: guest_that_says(DONE % (b"[" * 400_000 + b"]" * 400_000)),
    "says_400_000_open_arrays": lambda: guest_that_says(b"[" * 400_000),
    "says_a_million_numbers": lambda: guest_that_says(DONE % (b"[" + b"1," * 500_000 + b"1]")),
    "says_an_integer_of_a_million_digits": lambda: guest_that_says(DONE % (b"9" * 1_000_000)),
    "says_a_path_of_a_mebibyte": lambda: guest_that_says(
        b'{"cmd":"open","path":"' + b"a/" * 500_000 + b'"}'
    ),
    "fails_with_a_message_of_a_mebibyte": lambda: guest_that_says(
        b'{"cmd":"fail","code":"x","message":"' + b"m" * ((1 << 20) - 60) + b'"}'
    ),
    "emits_a_mebibyte_for_ever": lambda: guest_that_says(
        b'{"cmd":"emit","progress":"' + b"p" * ((1 << 20) - 60) + b'"}'
    ),
    "asks_with_a_prompt_of_a_mebibyte": lambda: guest_that_says(
        b'{"cmd":"infer","max_tokens":1,"prompt":"' + b" " * ((1 << 20) - 60) + b'"}'
    ),
    "harmless": block_with,
}
