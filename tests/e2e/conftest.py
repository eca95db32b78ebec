"""A real host process with the real model, serving the blocks that ship with the project."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bounds import scaled
from cuttlebone.cli.host_process import host_process

ROOT = Path(__file__).parents[2]
SUMMARIZE = ROOT / "guest-examples" / "c" / "summarize"
ANSWER_S_MAX = scaled(120.0)
"""A busy machine may take that long for what a quiet one does in seconds."""


@pytest.fixture(scope="session")
def spec_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Specs over the real block: as it ships, without a model, with another model, with low limits."""
    folder = tmp_path_factory.mktemp("specs")
    for name in ("summarize.wasm", "summarize.yaml", "texts"):
        source = SUMMARIZE / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    shipped = (folder / "summarize.yaml").read_text()
    variants = {
        "unserved": shipped.replace("model: smollm2", "model: elsewhere"),
        "hasty": shipped.replace("time_ms: 3600000", "time_ms: 300"),
        "frugal": shipped.replace("time_ms: 3600000", "tokens_out: 20"),
    }
    for name, text in variants.items():
        (folder / f"{name}.yaml").write_text(text.replace("name: summarize", f"name: {name}"))
    (folder / "broken.yaml").write_text(shipped.replace("limits:", "limit:"))
    (folder / "texts" / "empty.txt").touch()
    (folder / "texts" / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    return folder


@pytest.fixture(scope="session")
def http(spec_folder: Path, demo_model: Path) -> Iterator[httpx.Client]:
    """A plain HTTP client of the host, once its model is loaded."""
    arguments = ["--specs", str(spec_folder), "--model", f"smollm2={demo_model}"]
    with (
        host_process(arguments) as url,
        httpx.Client(base_url=url, timeout=ANSWER_S_MAX) as client,
    ):
        yield client
