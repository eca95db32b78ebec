"""The block in each SDK's README is whole: built as the README says, it asks the model and answers."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.authoring.folder import Language
from cuttlebone.authoring.rust import TARGET, find_rust
from guest_examples.languages import EXAMPLES, need
from guest_examples.modules import ROOT, OpenGuest

pytestmark = pytest.mark.timeout(scaled(900))  # the first build of a Rust crate also builds serde
SDKS = ROOT / "abi" / "sdk"


def readme(language: Language, kind: str) -> str:
    """The first block of a kind in the README of an SDK."""
    text = (SDKS / language / "README.md").read_text()
    found = re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)
    assert found, kind
    return found[1]


def run(command: list[str], folder: Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def answers(wasm: bytes, open_guest: OpenGuest) -> None:
    guest = open_guest(wasm)
    asked = json.loads(guest.init(b'{"question":"Who are you?"}'))
    done = guest.step(b'{"event":"infer_done","text":"A model.","tokens_out":3}')

    assert (asked["cmd"], asked["prompt"], asked["max_tokens"]) == ("infer", "Who are you?", 100)
    assert json.loads(done) == {"cmd": "done", "result": "A model."}


def test_the_block_in_zig(tmp_path: Path, open_guest: OpenGuest) -> None:
    need(Language.ZIG)
    (tmp_path / "block.zig").write_text(readme(Language.ZIG, "zig"))
    build = readme(Language.ZIG, "console").splitlines()[-1].replace("abi/sdk", str(SDKS))

    run([sys.executable, *shlex.split(build)[1:]], tmp_path)

    answers((tmp_path / "block.wasm").read_bytes(), open_guest)


def test_the_block_in_assemblyscript(tmp_path: Path, open_guest: OpenGuest) -> None:
    need(Language.ASSEMBLYSCRIPT)
    (tmp_path / "assembly").mkdir()
    (tmp_path / "assembly" / "index.ts").write_text(readme(Language.ASSEMBLYSCRIPT, "ts"))
    config = (SDKS / "assemblyscript" / "README.md").read_text().split("```json\n")[2]
    (tmp_path / "asconfig.json").write_text(config.split("```")[0])
    (tmp_path / "node_modules").symlink_to(EXAMPLES / "assemblyscript" / "node_modules")
    build = readme(Language.ASSEMBLYSCRIPT, "console").splitlines()[-1].removeprefix("npx ")

    run([f"node_modules/.bin/{build.split()[0]}", *build.split()[1:]], tmp_path)

    answers((tmp_path / "block.wasm").read_bytes(), open_guest)


def test_the_block_in_rust(tmp_path: Path, open_guest: OpenGuest) -> None:
    need(Language.RUST)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text(readme(Language.RUST, "rust"))
    manifest = readme(Language.RUST, "toml").replace("../abi/sdk", str(SDKS))
    (tmp_path / "Cargo.toml").write_text(manifest)
    shutil.copy(SDKS / "rust" / "Cargo.lock", tmp_path)
    rust, target = find_rust(shutil.which), EXAMPLES / "rust" / "target"

    run(list(rust.command()), tmp_path, CARGO_TARGET_DIR=str(target), **rust.environment)

    answers((target / TARGET / "release" / "answer.wasm").read_bytes(), open_guest)
