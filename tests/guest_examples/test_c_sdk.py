"""What is particular to the C header: its own readers of JSON, the standards that it compiles in, several files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuttlebone.authoring.constructors import constructs_at_each_call
from cuttlebone.authoring.doctor import examine
from cuttlebone.authoring.folder import Language
from cuttlebone.errors import FaultKind
from cuttlebone.sandbox import Guest, GuestLimits, Sandbox
from cuttlebone_abi import Sliced, dump_json
from guest_examples.mirrors import progress
from guest_examples.modules import ROOT, OpenGuest

SDK = ROOT / "abi" / "sdk" / "c"
MEBIBYTE = 1 << 20
COUNTER = """#include "cuttlebone.h"
static volatile int first = 1;
struct Counter {
    int n;
    Counter() : n(first) {}
};
static Counter counter;
static cf_command tell() {
    static cf_buffer out;
    cf_clear(&out);
    cf_put_u64(&out, (uint64_t)counter.n++);
    return cf_emit(cf_json_of(&out));
}
static cf_command start(cf_json) { return tell(); }
static cf_command step(cf_event) { return tell(); }
CF_BLOCK(start, step)
"""
"""Counts its calls in an object that a constructor sets up."""
EXPORTS = {
    "memory", "cf_alloc", "cf_init", "cf_step", "cf_on_token", "cf_abi_version", "cf_panic",
    "_initialize",
}  # fmt: skip


@pytest.fixture(scope="module")
def language() -> Language:
    return Language.C


@pytest.mark.parametrize("number", [0.1, 0.7, 1.1, 0.95, 1e-5, 2.5, 1234.5678, 1e22, 1e-7, -3.25])
def test_a_short_decimal_survives_exactly(mirror: Guest, number: float) -> None:
    assert progress(mirror.init(dump_json({"copy": number}))) == number


@pytest.mark.parametrize(
    ("escaped", "text"),
    [(r"\ud83d\ude00", "😀"), (r"\ud83d", "�"), (r"\ude00x", "�x"), (r"\ud83d\ud83d\ude00", "�😀")],
)
def test_half_of_a_surrogate_pair_becomes_a_replacement_character(
    mirror: Guest, escaped: str, text: str
) -> None:
    assert progress(mirror.init(f'{{"copy":"{escaped}"}}'.encode())) == text


def test_windows_of_a_mebibyte_fit_into_half_the_memory_of_a_job_by_default(
    mirror_wasm: bytes, open_guest: OpenGuest
) -> None:
    # Half of each window is line ends, which are two bytes in JSON: all of them are unescaped
    # into memory of the guest, and escaped again in its answer.
    mirror = open_guest(mirror_wasm, GuestLimits(command_bytes=2 * MEBIBYTE))
    mirror.init(b"{}")

    for size in range(MEBIBYTE // 16, MEBIBYTE + 1, MEBIBYTE // 16):
        window = "a\n" * (size // 2)
        told = progress(mirror.step(dump_json(Sliced(text=window, next_offset=size))))
        assert told["text"] == window

    assert mirror.accounting.memory_bytes_peak < 32 * MEBIBYTE


def test_the_module_exports_nothing_but_the_contract(sandbox: Sandbox, mirror_wasm: bytes) -> None:
    assert sandbox.admit(mirror_wasm).exports.keys() == EXPORTS


def readme_block() -> str:
    """The first C block of the README, which readers copy."""
    text = (SDK / "README.md").read_text()
    return text.split("```c\n", 1)[1].split("```", 1)[0]


@pytest.mark.parametrize("standard", ["c11", "c23", "c++11", "c++23"])
def test_the_header_has_no_warnings_in_any_standard(tmp_path: Path, standard: str) -> None:
    source = tmp_path / ("block.cpp" if "++" in standard else "block.c")
    source.write_text(
        readme_block().replace("= {};", "= cf_infer_request();" if "++" in standard else "= {0};")
    )
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    target = ["-target", "wasm32-freestanding", f"-std={standard}", f"-I{SDK}"]

    compiled = subprocess.run(
        [
            sys.executable,
            "-m",
            "ziglang",
            "cc",
            "-c",
            *target,
            *warnings,
            str(source),
            "-o",
            str(tmp_path / "block.o"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert compiled.stderr == ""


def build_counter(folder: Path, header: str) -> bytes:
    (folder / "cuttlebone.h").write_text(header)
    (folder / "counter.cpp").write_text(COUNTER)
    flags = ["-target", "wasm32-freestanding", "-Oz", "-Wl,--no-entry", "-I."]
    compiler = [sys.executable, "-m", "ziglang", "c++"]
    subprocess.run([*compiler, *flags, "counter.cpp", "-o", "c.wasm"], cwd=folder, check=True)
    return (folder / "c.wasm").read_bytes()


def counts(guest: Guest) -> list[object]:
    emitted = b'{"event":"emitted"}'
    answers = [guest.init(b"null"), guest.step(emitted), guest.step(emitted)]
    return [progress(answer) for answer in answers]


def test_what_a_constructor_set_up_lasts_from_call_to_call(
    tmp_path: Path, open_guest: OpenGuest
) -> None:
    wasm = build_counter(tmp_path, (SDK / "cuttlebone.h").read_text())

    assert counts(open_guest(wasm)) == [1, 2, 3]
    assert not constructs_at_each_call(wasm)


def test_the_check_finds_a_module_that_constructs_at_each_call(
    tmp_path: Path, open_guest: OpenGuest, sandbox: Sandbox
) -> None:
    header = (SDK / "cuttlebone.h").read_text()
    wasm = build_counter(tmp_path, header.replace('CF_EXPORT("_initialize")', "static inline"))

    assert counts(open_guest(wasm)) == [1, 1, 1]
    (finding,) = (
        one for one in examine(wasm, sandbox).findings if one.fault.kind is FaultKind.CONSTRUCTORS
    )
    (line,) = finding.mendings
    mended = build_counter(
        tmp_path,
        f"{header}\n{line.split('or add: ')[1]}".replace(
            'CF_EXPORT("_initialize")', "static inline"
        ),
    )
    assert counts(open_guest(mended)) == [1, 2, 3]


def test_a_block_of_several_files_defines_everything_once(
    tmp_path: Path, open_guest: OpenGuest
) -> None:
    (tmp_path / "more.c").write_text(
        '#define CF_DECLARATIONS_ONLY\n#include "cuttlebone.h"\n'
        'cf_command answer(void) { return cf_done(cf_json_text(CF("from another file"))); }\n'
    )
    (tmp_path / "block.c").write_text(
        '#include "cuttlebone.h"\ncf_command answer(void);\n'
        "static cf_command start(cf_json input) { (void)input; return answer(); }\n"
        "static cf_command step(cf_event event) { (void)event; return answer(); }\n"
        "CF_BLOCK(start, step)\n"
    )
    flags = ["-target", "wasm32-freestanding", "-Oz", "-Wl,--no-entry", f"-I{SDK}"]

    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", *flags, "block.c", "more.c", "-o", "block.wasm"],
        cwd=tmp_path,
        check=True,
    )

    guest = open_guest((tmp_path / "block.wasm").read_bytes())
    assert json.loads(guest.init(b"{}")) == {"cmd": "done", "result": "from another file"}


@pytest.mark.parametrize("suffix", [".c", ".cpp"])
def test_the_block_of_the_readme_builds_as_c_and_as_cpp_with_the_command_given_there(
    tmp_path: Path, suffix: str, open_guest: OpenGuest
) -> None:
    source = tmp_path / f"block{suffix}"
    source.write_text(readme_block())
    text = (SDK / "README.md").read_text()
    command = next(line for line in text.splitlines() if "ziglang cc" in line)
    words = command.replace("block.c", source.name).replace("abi/sdk/c", str(SDK)).split()

    subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, check=True)

    guest = open_guest((tmp_path / "block.wasm").read_bytes())
    asked = json.loads(guest.init(b'{"question":"Who are you?"}'))
    assert (asked["cmd"], asked["prompt"]) == ("infer", "Who are you?")
    done = guest.step(b'{"event":"infer_done","text":"A model.","tokens_out":3}')
    assert json.loads(done) == {"cmd": "done", "result": "A model."}
