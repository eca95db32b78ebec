"""A process in which a guest runs has little in memory: each job pays for the pages of what is there."""

import subprocess
import sys

import pytest

_LISTED = """
import importlib, sys
for name in ("cuttlebone.locked_process.zygote", *sys.argv[1:]):
    importlib.import_module(name)
print(*sys.modules)
"""
HEAVY = {"pydantic", "lark", "structlog", "rich", "asyncio", "email", "sqlite3"}


@pytest.mark.parametrize(
    "program", ["cuttlebone.sandbox.guest_program", "cuttlebone.sandbox.compile_program"]
)
def test_a_zygote_of_guests_has_not_loaded_what_only_a_host_needs(program: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", _LISTED, program], capture_output=True, text=True, check=True
    )
    assert HEAVY & set(ended.stdout.split()) == set()
