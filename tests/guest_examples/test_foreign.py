"""Blocks of other SDKs for the same contract run unchanged: only what is required, and every buffer leaked."""

import shutil
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.authoring.folder import Language, open_folder
from cuttlebone.authoring.suite import BOTH_MODES, read_suite
from cuttlebone.authoring.trial import trial_settings
from cuttlebone.sandbox import Sandbox
from cuttlebone.settings import Isolation, Settings
from guest_examples.languages import MIRRORS, build_crate, need
from guest_examples.modules import Compile

pytestmark = pytest.mark.timeout(scaled(900))  # the first build of a Rust crate also builds serde
FOREIGN = MIRRORS / "foreign"


@pytest.fixture(scope="module", params=[Language.C, Language.RUST], ids=str)
def foreign_wasm(request: pytest.FixtureRequest, compile_c: Compile) -> bytes:
    language: Language = request.param
    need(language)
    if language is Language.C:
        return compile_c(FOREIGN / "c" / "foreign.c")
    return build_crate(FOREIGN / "rust", "foreign")


def test_it_has_the_required_exports_and_no_other_of_the_contract(
    foreign_wasm: bytes, sandbox: Sandbox
) -> None:
    block = sandbox.admit(foreign_wasm)

    ours = {name for name in block.exports if name.startswith("cf_")}
    assert ours == {"cf_alloc", "cf_init", "cf_step"}
    assert block.abi_version == 1


@pytest.mark.parametrize("isolation", BOTH_MODES)
def test_it_runs_whole_jobs(foreign_wasm: bytes, isolation: Isolation, tmp_path: Path) -> None:
    folder = tmp_path / "foreign"
    shutil.copytree(FOREIGN, folder, ignore=shutil.ignore_patterns("c", "rust"))
    (folder / "foreign.wasm").write_bytes(foreign_wasm)
    settings = trial_settings(Settings(cache=tmp_path / "cache"))

    verdicts = list(read_suite(open_folder(folder), settings).run([isolation]))

    assert {one.case: one.difference for one in verdicts if not one.ok} == {}
    assert len(verdicts) == 3
