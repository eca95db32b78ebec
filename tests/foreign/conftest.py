"""A host with the demo model that serves what was built with tools of others."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.assembly import open_host
from cuttlebone.authoring.folder import Language
from cuttlebone.job.job import Submission
from cuttlebone.service.host import Host
from cuttlebone.settings import Settings
from cuttlebone_abi import Envelope, Json
from foreign.published import BLOCKS, SDK_VERSIONS, block_name, build_blocks, fetch_interpreter
from guest_examples.languages import need
from hosts import ended

Run = Callable[[str, Json], Envelope]
OpenRun = Callable[[], Run]

BOUND_S = scaled(240.0)
"""A busy machine may take that long for what a quiet one does in seconds."""
SPEC = """\
name: {name}
description: A block that was built with the tools of others.
block: {name}.wasm
model: smollm2
capabilities: {{read: [./texts]}}
infer: {{max_tokens_max: 24}}
"""


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the specs, and in it `texts`, which their blocks may read."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "texts").mkdir()
    return folder


@pytest.fixture(scope="module")
def blocks(specs: Path) -> Path:
    """The folder, with a spec and a module of every block over every version of the SDK."""
    need(Language.RUST)
    built = build_blocks()
    for name in (block_name(one, version) for one in BLOCKS for version in SDK_VERSIONS):
        _serve(specs, name, (built / f"{name}.wasm").read_bytes())
    return specs


@pytest.fixture(scope="module")
def interpreter(specs: Path) -> Path:
    """The folder, with the script interpreter and a spec for it."""
    need(Language.RUST)
    _serve(specs, "interpreter", fetch_interpreter())
    return specs


def _serve(folder: Path, name: str, wasm: bytes) -> None:
    (folder / f"{name}.wasm").write_bytes(wasm)
    (folder / f"{name}.yaml").write_text(SPEC.format(name=name))


@pytest.fixture(scope="module")
def open_run(
    specs: Path, demo_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenRun]:
    """Opens a host over the specs that are there by then."""
    settings = Settings(
        specs=specs,
        models={"smollm2": demo_model},
        cache=tmp_path_factory.mktemp("cache"),
        context_tokens_max=2048,
    )
    with ExitStack() as stack:
        yield lambda: partial(_run, stack.enter_context(open_host(settings)))


def _run(host: Host, spec: str, value: Json) -> Envelope:
    assert host.specs.faults() == {}
    job = host.jobs.submit(Submission(spec, value))
    envelope = ended(host, job, BOUND_S).envelope
    assert envelope is not None
    return envelope
