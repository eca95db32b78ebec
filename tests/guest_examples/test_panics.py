"""A panic in a guest ends its job with the guest's own words, in every language and wherever guests run."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from bounds import scaled
from cuttlebone.errors import BlockRefused, JobError
from cuttlebone.sandbox import Guest, GuestLimits, Sandbox
from cuttlebone.settings import Isolation
from cuttlebone_abi import Json
from guest_examples.modules import Compile

pytestmark = pytest.mark.timeout(scaled(900))  # the first build of a Rust crate also builds serde


@pytest.fixture(scope="module", params=[Isolation.THREAD, Isolation.PROCESS], ids=str)
def anywhere(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with Sandbox(isolation=request.param) as sandbox:
        yield sandbox


def open_in(sandbox: Sandbox, wasm: bytes) -> Guest:
    return sandbox.open_guest(sandbox.admit(wasm), GuestLimits())


def failure(command: bytes) -> tuple[str, str]:
    said: dict[str, Json] = json.loads(command)
    assert said["cmd"] == "fail", said
    return str(said["code"]), str(said["message"])


def test_a_panic_is_the_command_fail_with_its_message(
    mirror_wasm: bytes, anywhere: Sandbox
) -> None:
    guest = open_in(anywhere, mirror_wasm)

    with pytest.raises(JobError, match="trapped in cf_init") as trap:
        guest.init('{"panic":"the “sum” is off"}'.encode())
    code, message = failure(trap.value.last_words)
    guest.close()

    assert code == "panic"
    assert message.startswith("the “sum” is off")


def test_a_panic_in_a_listener_stops_the_generation_and_then_fails_the_job(
    mirror_wasm: bytes, anywhere: Sandbox
) -> None:
    guest = open_in(anywhere, mirror_wasm)
    guest.init(b"{}")

    verdict = guest.on_token(b"panic")
    with pytest.raises(JobError, match="trapped in cf_on_token") as trap:
        guest.step(b'{"event":"infer_done","text":"panic","tokens_out":1}')
    code, _ = failure(trap.value.last_words)
    guest.close()

    assert (verdict, code) == (1, "panic")


def test_a_guest_that_has_panicked_is_not_entered_again(
    mirror_wasm: bytes, anywhere: Sandbox
) -> None:
    guest = open_in(anywhere, mirror_wasm)
    for call in (guest.init, guest.step, guest.on_token):
        with pytest.raises(JobError, match="trapped in cf_init"):
            call(b'{"panic":"once"}')
    guest.close()


def block(panic: str) -> str:
    """A block that traps at once, and what its `cf_panic` does."""
    return textwrap.dedent(
        f"""
        #define EXPORT(name) __attribute__((export_name(name), used))
        static const struct {{ const char *ptr; unsigned len; }} words = {{"{{}}", 2}}, none = {{0, 0}};
        static const struct {{ const char *ptr; unsigned len; }} far = {{(const char *)0xfffffff0, 64}};
        EXPORT("cf_alloc") void *cf_alloc(unsigned len) {{ static char bytes[2048]; (void)len; return bytes; }}
        EXPORT("cf_init") const void *cf_init(char *ptr, unsigned len) {{ (void)ptr; (void)len; __builtin_trap(); }}
        EXPORT("cf_step") const void *cf_step(char *ptr, unsigned len) {{ (void)ptr; (void)len; __builtin_trap(); }}
        {panic}
        void keep(void) {{ (void)&words; (void)&none; (void)&far; }}
        """
    )


BARE = {
    "none": "",
    "null": 'EXPORT("cf_panic") const void *cf_panic(void) { return 0; }',
    "empty": 'EXPORT("cf_panic") const void *cf_panic(void) { return &none; }',
    "outside": 'EXPORT("cf_panic") const void *cf_panic(void) { return &far; }',
    "traps": 'EXPORT("cf_panic") const void *cf_panic(void) { __builtin_trap(); }',
}


@pytest.mark.parametrize("panic", BARE.values(), ids=BARE.keys())
def test_without_words_a_trap_is_told_as_it_is(
    panic: str, tmp_path: Path, compile_c: Compile, sandbox: Sandbox
) -> None:
    source = tmp_path / "trap.c"
    source.write_text(block(panic))

    with pytest.raises(JobError, match="trapped in cf_init") as trap:
        open_in(sandbox, compile_c(source)).init(b"{}")
    assert trap.value.last_words == b""


def test_a_cf_panic_of_another_type_is_refused(
    tmp_path: Path, compile_c: Compile, sandbox: Sandbox
) -> None:
    source = tmp_path / "trap.c"
    source.write_text(block('EXPORT("cf_panic") void cf_panic(int a) { (void)a; }'))

    with pytest.raises(BlockRefused, match="exports `cf_panic` as"):
        sandbox.admit(compile_c(source))
