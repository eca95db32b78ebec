"""`block check` names the mistake of each broken module, and what mends it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import wasmtime

from cuttlebone.authoring.doctor import Examination, Severity, examine
from cuttlebone.errors import FaultKind
from cuttlebone.sandbox import Sandbox
from cuttlebone.sandbox.remedies import remedies
from cuttlebone.settings import Isolation

BROKEN = Path(__file__).parent / "broken"
SUMMARIZE = Path(__file__).parents[2] / "guest-examples" / "c" / "summarize" / "summarize.wasm"


@dataclass(frozen=True, slots=True)
class Broken:
    """A module with one mistake, and parts of what has to be said of it."""

    source: str
    about: str
    says: str
    mends: str

    @classmethod
    def read(cls, path: Path) -> "Broken":
        source = path.read_text()
        heads = dict(re.findall(r"^;; (\w+): (.*)$", source, re.MULTILINE))
        return cls(source, heads["about"], heads["says"], heads["mends"])


PATHS = sorted(BROKEN.glob("*.wat"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(isolation=Isolation.THREAD) as opened:
        yield opened


def messages(found: Examination) -> list[str]:
    return [finding.message for finding in found.findings]


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_a_broken_module_is_told_its_mistake_and_its_mending(path: Path, sandbox: Sandbox) -> None:
    broken = Broken.read(path)

    found = examine(bytes(wasmtime.wat2wasm(broken.source)), sandbox, trial_s_max=0.3)

    fitting = [finding for finding in found.findings if broken.says in finding.message]
    assert fitting, messages(found)
    mendings = [mending for finding in fitting for mending in finding.mendings]
    assert any(broken.mends in mending for mending in mendings), mendings


def test_every_broken_module_is_about_another_mistake() -> None:
    known = [Broken.read(path) for path in PATHS]

    assert len(known) >= 20
    assert len({broken.about for broken in known}) == len(known)


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_a_broken_module_is_told_of_no_mistake_that_it_does_not_have(
    path: Path, sandbox: Sandbox
) -> None:
    # Once its import, export or feature is in order, all of them are the same block.
    found = examine(bytes(wasmtime.wat2wasm(Broken.read(path).source)), sandbox, trial_s_max=0.3)

    assert len([one for one in found.findings if "declares no types" not in one.message]) <= 2


@pytest.mark.parametrize(
    ("wasm", "says"),
    [
        (b"", "the file is empty"),
        (b"(module)", "this is WebAssembly text"),
        (b"\0asm\x0d\0\1\0", "this is a WebAssembly component"),
        (b"\x7fELF\2\1\1\0" * 4, "it begins with"),
        (SUMMARIZE.read_bytes()[:-100], "malformed module"),
    ],
)
def test_what_is_no_module_is_told_what_it_is(wasm: bytes, says: str, sandbox: Sandbox) -> None:
    found = examine(wasm, sandbox)

    assert [says in message for message in messages(found)] == [True]
    assert not found.usable


def test_several_mistakes_are_told_at_once(sandbox: Sandbox) -> None:
    source = """(module (@producers (language "Rust" "") (processed-by "rustc" "1.80.0"))
      (import "env" "now" (func (result f64)))
      (import "wbg" "log" (func))
      (memory (export "memory") 32)
      (func (export "cf_alloc") (param i64) (result i32) (i32.const 0))
      (func (drop (v128.const i32x4 0 0 0 0))))"""

    found = examine(bytes(wasmtime.wat2wasm(source)), sandbox)

    told = messages(found)
    for part in ("`env.now`", "`wbg.log`", "`cf_alloc` as (i64)", "`cf_init`", "`cf_step`", "SIMD"):
        assert any(part in message for message in told), (part, told)
    assert all(mending.startswith("Rust: ") for one in found.findings for mending in one.mendings)


def test_a_remedy_is_chosen_by_the_fault_and_not_by_the_words_of_a_name(sandbox: Sandbox) -> None:
    source = SOUND.replace("(module", '(module (import "env" "fd_descriptor" (func))', 1)

    found = examine(bytes(wasmtime.wat2wasm(source)), sandbox)

    (finding,) = (one for one in found.findings if one.severity is Severity.ERROR)
    assert finding.fault.kind is FaultKind.IMPORT
    assert "`env.fd_descriptor`" in finding.message
    assert finding.mendings == remedies(FaultKind.IMPORT, found.toolchain)
    assert not any("eight bytes" in mending for mending in finding.mendings)


def test_a_good_block_has_no_errors_and_its_costs_are_measured(sandbox: Sandbox) -> None:
    found = examine(SUMMARIZE.read_bytes(), sandbox)

    assert messages(found) == []
    assert found.usable
    assert found.facts["first_command"] == "open"
    assert found.facts["signature"].startswith("{path: text} -> ")
    for cost in ("size_bytes", "compile_ms", "compiled_bytes", "memory_bytes_min"):
        assert found.facts[cost] > 0


def test_debug_information_and_large_code_are_warnings(sandbox: Sandbox) -> None:
    padding = "a" * (65 << 10)
    source = SOUND.replace("(module", f'(module (@custom ".debug_info" "{padding}")', 1)

    found = examine(bytes(wasmtime.wat2wasm(source)), sandbox)

    assert found.usable
    assert any("debug information" in message for message in messages(found))


SOUND = Broken.read(BROKEN / "memory-too-large.wat").source.replace("2048", "1")


def test_the_block_behind_the_broken_ones_is_sound(sandbox: Sandbox) -> None:
    found = examine(bytes(wasmtime.wat2wasm(SOUND)), sandbox)

    assert [finding.severity for finding in found.findings] == [Severity.WARNING]
    assert "declares no types" in messages(found)[0]
