"""What the four SDKs have in common: one name for one thing, and a word where a host may refuse."""

import re
from pathlib import Path
from typing import Final, get_args

import pytest

from cuttlebone_abi import NotOffered

SDK: Final = Path(__file__).parents[2] / "abi" / "sdk"

COMMANDS: Final = {
    "assemblyscript": SDK / "assemblyscript" / "assembly" / "command.ts",
    "rust": SDK / "rust" / "src" / "command.rs",
    "zig": SDK / "zig" / "cuttlebone.zig",
}
INFER: Final = {
    "assemblyscript": SDK / "assemblyscript" / "assembly" / "infer.ts",
    "c": SDK / "c" / "cuttlebone.h",
    "rust": SDK / "rust" / "src" / "infer.rs",
    "zig": SDK / "zig" / "cuttlebone.zig",
}
OR_ERROR: Final = {
    COMMANDS["assemblyscript"]: "  orError(): Command",
    SDK / "c" / "cuttlebone.h": "cf_command cf_or_error(cf_command command);",
    COMMANDS["rust"]: "    pub fn or_error(mut self) -> Self",
    COMMANDS["zig"]: "    pub fn orError(self: Command) Command",
}
_TWO_FUNCTIONS: Final = {"image_op": ("resizeImage", "cropImage")}
"""AssemblyScript has no unions, so that this command has a function for each change."""


def function_names(language: str, command: str) -> tuple[str, ...]:
    if language == "rust":
        return (command,)
    camel = re.sub(r"_(\w)", lambda found: found[1].upper(), command)
    return _TWO_FUNCTIONS.get(command, (camel,)) if language == "assemblyscript" else (camel,)


def not_offered() -> list[str]:
    return list(get_args(NotOffered.model_fields["cmd"].annotation))


@pytest.mark.parametrize("language", COMMANDS)
def test_a_command_that_a_host_may_refuse_says_so(language: str) -> None:
    lines = COMMANDS[language].read_text().splitlines()
    for command in not_offered():
        for name in function_names(language, command):
            [at] = [
                at
                for at, line in enumerate(lines)
                if re.match(rf"\s*(static |pub fn ){name}\(", line)
            ]
            assert "A host may refuse it as `unsupported`." in lines[at - 1], name


def test_the_header_for_c_has_none_of_these_and_says_so_of_what_it_passes_on() -> None:
    header = (SDK / "c" / "cuttlebone.h").read_text()
    assert [name for name in not_offered() if f"cf_{name}(" in header] == []
    assert "has no function for, as JSON. A host may refuse it as `unsupported`." in header


@pytest.mark.parametrize("language", INFER)
def test_images_in_a_request_say_so_as_well(language: str) -> None:
    text = INFER[language].read_text()
    assert re.search(r"[Hh]andles[.;] (A|a) host may refuse them as `unsupported`", text)


@pytest.mark.parametrize("path", OR_ERROR, ids=lambda path: path.name)
def test_a_command_that_may_fail_is_asked_for_under_one_name(path: Path) -> None:
    assert OR_ERROR[path] in path.read_text()
