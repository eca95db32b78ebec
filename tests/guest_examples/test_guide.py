"""The guide for block authors is true: its files and commands, taken from the page, do what it says."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from guest_examples.modules import ROOT

GUIDE = ROOT / "docs" / "guests.md"
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]+) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Session:
    """Commands of the guide, what they print, and how the last of them ends."""

    commands: str
    note: str
    output: str = ""

    @property
    def status(self) -> int:
        return int(self.note.rpartition(": ")[2]) if self.note.startswith("exit status") else 0


def sessions() -> list[Session]:
    """The console blocks, in order, each with the output block that follows it."""
    found: list[Session] = []
    for block in BLOCK.finditer(GUIDE.read_text()):
        if block["kind"] == "console":
            found.append(Session(block["text"], block["note"] or ""))
        elif block["kind"] == "output":
            found[-1] = Session(found[-1].commands, found[-1].note, block["text"])
    return found


def files() -> dict[str, str]:
    """The files that the guide tells to make."""
    return {
        block["note"].removeprefix("file: "): block["text"]
        for block in BLOCK.finditer(GUIDE.read_text())
        if (block["note"] or "").startswith("file: ")
    }


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder like a clone, with the files of the guide in it."""
    shutil.copytree(ROOT / "abi" / "sdk", tmp_path / "abi" / "sdk")
    for name, text in files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def follow(session: Session, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -e\n{session.commands}"],
        cwd=folder,
        env={**os.environ, "PATH": path, "CUTTLEBONE_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == session.status, done.stderr
    assert re.fullmatch(pattern(session.output), done.stdout), done.stdout


def pattern(output: str) -> str:
    """`…` stands for anything."""
    return "(?s:.*)".join(map(re.escape, output.split("…"))) if output else "(?s:.*)"


def test_the_blocks_of_the_guide_that_need_no_model_run_as_written(clone: Path) -> None:
    plain = [one for one in sessions() if one.note in {"", "exit status: 1"}]

    assert len(plain) == 5
    for session in plain:
        follow(session, clone)


@pytest.mark.model
def test_the_second_block_of_the_guide_runs_as_written(clone: Path) -> None:
    (session,) = [one for one in sessions() if one.note == "needs the model"]

    follow(session, clone)


def test_every_compiler_command_of_the_guide_has_the_flags_of_the_header_readme() -> None:
    readme = (ROOT / "abi" / "sdk" / "c" / "README.md").read_text()
    (wanted,) = re.findall(r"^python -m ziglang cc (.*) -I abi/sdk/c", readme, re.MULTILINE)
    used = re.findall(r"^python -m ziglang cc (.*) -I abi/sdk/c", GUIDE.read_text(), re.MULTILINE)

    assert used == [wanted, wanted]
