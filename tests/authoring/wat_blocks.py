"""Small blocks for tests: they return fixed commands, one after the other."""

import json
from pathlib import Path

from cli.blocks import block
from cuttlebone_abi import Json

SPEC = """name: fixed
description: Returns fixed commands.
block: fixed.wasm
model: writer
capabilities:
  read: [./texts]
"""


def block_folder(path: Path, *commands: dict[str, Json], spec: str = SPEC) -> Path:
    """Write the folder of a block that returns these commands, whatever it is told."""
    path.mkdir(exist_ok=True)
    (path / "fixed.wasm").write_bytes(block(commands))
    (path / "fixed.yaml").write_text(spec)
    (path / "cases").mkdir(exist_ok=True)
    return path


def write_case(folder: Path, name: str, **case: Json) -> Path:
    """Write a case of a block."""
    path = folder / "cases" / f"{name}.json"
    path.write_text(json.dumps({"about": "A case.", "input": {}} | case))
    return path


def infer(prompt: str) -> dict[str, Json]:
    """A command that asks the model."""
    return {"cmd": "infer", "prompt": prompt, "max_tokens": 9}
