"""The C header understands and writes every golden message, and keeps its memory small."""

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from abi.golden import Golden, each
from cuttlebone.errors import JobError
from cuttlebone.sandbox import Guest, GuestLimits, Sandbox
from cuttlebone_abi import Emit, ErrorCode, Json, Sliced, decode_command, dump_json
from guest_examples.modules import ROOT, Compile, OpenGuest

MIRROR = Path(__file__).parent / "mirror.c"
SDK = ROOT / "abi" / "sdk" / "c"
MEBIBYTE = 1 << 20
EXPORTS = {
    "memory", "cf_alloc", "cf_init", "cf_step", "cf_on_token", "cf_abi_version", "cf_panic",
}  # fmt: skip


@pytest.fixture(scope="module")
def mirror_wasm(compile_c: Compile) -> bytes:
    return compile_c(MIRROR)


@pytest.fixture
def mirror(mirror_wasm: bytes, open_guest: OpenGuest) -> Guest:
    return open_guest(mirror_wasm)


@pytest.fixture(scope="module")
def long_lived_mirror(mirror_wasm: bytes, sandbox: Sandbox) -> Guest:
    """One guest for many examples: what it is told before must not matter."""
    return sandbox.open_guest(sandbox.admit(mirror_wasm), GuestLimits())


def progress(command: bytes) -> Json:
    decoded = decode_command(command, bytes_max=2 * MEBIBYTE)
    assert isinstance(decoded, Emit)
    return decoded.progress


@each("valid", "command")
def test_a_command_built_from_its_fields_is_the_golden_one(mirror: Guest, vector: Golden) -> None:
    built = mirror.init(dump_json({"command": vector.value}))

    assert decode_command(built) == decode_command(vector.raw)


@each("valid", "event")
def test_an_event_is_read_field_by_field_as_its_value_says(mirror: Guest, vector: Golden) -> None:
    mirror.init(b"{}")

    told = progress(mirror.step(vector.raw))

    assert json.dumps(told, sort_keys=True) == json.dumps(vector.value, sort_keys=True)


@each("invalid", "event")
def test_an_invalid_event_does_not_trap(mirror: Guest, vector: Golden) -> None:
    mirror.init(b"{}")

    assert isinstance(progress(mirror.step(vector.raw)), dict)


def test_an_event_of_the_original_contract_is_read_without_the_later_fields(mirror: Guest) -> None:
    mirror.init(b"{}")

    told = progress(mirror.step(b'{"event":"infer_done","text":"a","tokens_out":2}'))

    assert (told["text"], told["tokens_out"], told["finish"], told["seed"]) == ("a", 2, "", 0)


@pytest.mark.parametrize(
    "event", ["[]", "{}", "null", '{"event":"later","text":"a"}', '{"event":"sliced"}']
)
def test_what_is_no_event_that_the_header_knows_is_unknown(mirror: Guest, event: str) -> None:
    mirror.init(b"{}")

    assert progress(mirror.step(event.encode())) == {}


@given(data=st.binary() | st.text('{}[]":,\\u0d8e1truefalsnul ', max_size=60).map(str.encode))
@hypothesis_settings(max_examples=200)
def test_no_bytes_make_the_reader_trap(long_lived_mirror: Guest, data: bytes) -> None:
    long_lived_mirror.init(b"{}")

    long_lived_mirror.step(b'{"event":"sliced","next_offset":1,"text":' + data)
    long_lived_mirror.step(data)


texts = st.text(st.characters(exclude_categories=["Cs"]))
whole = st.integers(-(2**63), 2**64 - 1)
values = st.recursive(
    st.none() | st.booleans() | whole | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts.filter(lambda key: "\0" not in key), inner, max_size=4)
    ),
)


@given(value=values, ascii_only=st.booleans())
@hypothesis_settings(max_examples=200)
def test_any_value_survives_reader_and_writer(
    long_lived_mirror: Guest, value: Json, *, ascii_only: bool
) -> None:
    payload = json.dumps({"copy": value}, ensure_ascii=ascii_only).encode()

    copied = progress(long_lived_mirror.init(payload))

    assert json.dumps(copied) == json.dumps(value)


@given(number=st.floats(allow_nan=False, allow_infinity=False))
@hypothesis_settings(max_examples=300)
def test_a_number_survives_to_14_digits(long_lived_mirror: Guest, number: float) -> None:
    copied = progress(long_lived_mirror.init(dump_json({"copy": number})))

    assert math.isclose(copied, number, rel_tol=1e-14, abs_tol=1e-300)


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


def test_memory_does_not_grow_with_the_number_of_steps(mirror: Guest) -> None:
    event = dump_json({"event": "sliced", "text": "a line\n" * 1_000, "next_offset": 7_000})
    mirror.init(b"{}")
    mirror.step(event)
    before = mirror.accounting.memory_bytes_peak

    for _ in range(1_000):
        mirror.step(event)

    assert mirror.accounting.memory_bytes_peak == before


def test_payloads_that_creep_up_by_a_byte_do_not_cost_a_buffer_each(mirror: Guest) -> None:
    addresses = progress(mirror.init(dump_json({"sizes": list(range(60_000, 70_000))})))

    assert len(set(addresses)) <= 3


def test_a_buffer_that_was_replaced_is_not_given_to_anybody_else(mirror: Guest) -> None:
    sizes = [1_000 * 2**doublings for doublings in range(12)]

    addresses = progress(mirror.init(dump_json({"sizes": sizes})))

    taken = sorted(dict(zip(addresses, sizes, strict=True)).items())
    assert all(start + size <= after for (start, size), (after, _) in pairwise(taken))


def test_windows_of_a_mebibyte_fit_into_the_memory_of_a_job_by_default(
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


def test_a_guest_without_memory_ends_with_the_limit_and_not_with_a_bare_trap(
    mirror_wasm: bytes, open_guest: OpenGuest
) -> None:
    mirror = open_guest(mirror_wasm, GuestLimits(memory_bytes=3 * MEBIBYTE))
    mirror.init(b"{}")

    with pytest.raises(JobError, match=f"memory_bytes: {3 * MEBIBYTE}") as ended:
        mirror.step(dump_json(Sliced(text="a\n" * (MEBIBYTE // 4), next_offset=0)))

    assert ended.value.code is ErrorCode.LIMIT_EXCEEDED


def test_the_module_has_no_imports_and_every_export(sandbox: Sandbox, mirror_wasm: bytes) -> None:
    block = sandbox.admit(mirror_wasm)

    assert block.exports.keys() == EXPORTS
    assert block.abi_version == 1


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
