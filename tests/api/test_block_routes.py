"""Blocks over HTTP: uploaded under their digest, refused with every reason, run by specs."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.hosted import Api, Gate, served
from api.raw import connected, rest
from cuttlebone.specs.block_registry import BLOCK_BYTES_MAX
from hosts import SPEC

WASM = {"Content-Type": "application/wasm"}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(api: Api, data: bytes, digits: str | None = None, **headers: str) -> httpx.Response:
    return api.http.put(
        f"/v1/blocks/{digits or sha256(data)}", content=data, headers={**WASM, **headers}
    )


def refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def kept(folder: Path) -> list[str]:
    """What is in the folder of blocks."""
    return sorted(path.name for path in (folder / "blocks").iterdir())


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Api]:
    """A host with a state folder, `tmp_path`."""
    specs = tmp_path / "specs"
    specs.mkdir()
    with served(specs, state=tmp_path) as running:
        yield running


def test_a_block_is_kept_under_its_digest_and_shown(own: Api, tmp_path: Path) -> None:
    first, again = put(own, b" echo"), put(own, b" echo")

    shown = own.http.get(f"/v1/blocks/{sha256(b' echo')}").json()
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == shown
    assert shown["digest"] == f"sha256:{sha256(b' echo')}"
    assert (shown["size_bytes"], shown["abi_version"], shown["uploaded"]) == (5, 1, True)
    assert shown["specs"] == []
    assert kept(tmp_path) == [f"{sha256(b' echo')}.wasm"]


def test_the_list_has_uploaded_blocks_and_those_of_specs(own: Api) -> None:
    put(own, b" echo")

    listed = own.http.get("/v1/blocks").json()["blocks"]

    assert [one["digest"] for one in listed] == sorted(one["digest"] for one in listed)
    uploaded = [one for one in listed if one["uploaded"]]
    assert [one["digest"] for one in uploaded] == [f"sha256:{sha256(b' echo')}"]
    assert {"echo"} in [set(one["specs"]) for one in listed]


def test_a_spec_runs_an_uploaded_block_as_soon_as_it_is_there(own: Api, tmp_path: Path) -> None:
    spec_by_digest(tmp_path / "specs", b"echo ")
    before = own.http.get("/v1/specs").json()
    assert "was uploaded; PUT it to /v1/blocks" in before["unusable"][0]["fault"]

    put(own, b"echo ")

    assert own.ended(own.submit("remote", 5))["envelope"]["result"] == 5
    assert own.http.get(f"/v1/blocks/{sha256(b'echo ')}").json()["specs"] == ["remote"]


def test_a_block_with_another_digest_is_refused_and_not_kept(own: Api, tmp_path: Path) -> None:
    answer = put(own, b"echo", "0" * 64)

    refused(answer, 422, "digest_mismatch")
    assert sha256(b"echo") in answer.json()["detail"]
    assert kept(tmp_path) == []


def test_what_is_no_block_is_refused_with_every_reason(own: Api, tmp_path: Path) -> None:
    answer = put(own, b"nonsense")

    refused(answer, 422, "block_refused")
    assert answer.json()["errors"] == [{"pointer": "", "message": "no script is named 'nonsense'"}]
    assert kept(tmp_path) == []


def test_an_unknown_block_is_refused(api: Api) -> None:
    refused(api.http.get(f"/v1/blocks/{'0' * 64}"), 404, "unknown_block")


@pytest.mark.parametrize("digits", ["0" * 63, "0" * 65, "A" * 64, "g" * 64, "..%2F" + "0" * 59])
def test_what_is_no_digest_is_refused(api: Api, digits: str) -> None:
    assert api.http.get(f"/v1/blocks/{digits}").status_code in {400, 404}
    assert put(api, b"echo", digits).status_code in {400, 404, 405}


def test_a_block_is_sent_as_wasm_and_as_it_is(api: Api) -> None:
    refused(
        put(api, b"echo", **{"Content-Type": "application/json"}), 415, "unsupported_media_type"
    )
    refused(put(api, b"echo", **{"Content-Encoding": "gzip"}), 415, "unsupported_media_type")


def test_a_block_that_says_it_is_too_large_is_refused_before_it_comes(api: Api) -> None:
    with connected(api) as client:
        client.sendall(
            f"PUT /v1/blocks/{'0' * 64} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Type: application/wasm\r\nContent-Length: {BLOCK_BYTES_MAX + 1}\r\n\r\n".encode()
        )
        answer = rest(client)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"body_too_large" in answer


def test_a_block_that_turns_out_too_large_is_refused_and_not_kept(own: Api, tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(BLOCK_BYTES_MAX // (1 << 20)):
            yield b"x" * (1 << 20)
        yield b"x"

    answer = own.http.put(f"/v1/blocks/{'0' * 64}", content=parts(), headers=WASM)

    refused(answer, 413, "body_too_large")
    assert kept(tmp_path) == []


def test_an_upload_that_breaks_off_leaves_nothing(own: Api, tmp_path: Path) -> None:
    with connected(own) as client:
        client.sendall(
            f"PUT /v1/blocks/{'0' * 64} HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/wasm\r\nContent-Length: 100\r\n\r\nhalf".encode()
        )
        client.settimeout(0.5)
    for _ in range(2_000):
        own.http.get("/healthz")  # a round trip lets the event loop turn
        if kept(tmp_path) == []:
            return
    pytest.fail("the half of a block stayed")


def spec_by_digest(folder: Path, data: bytes, name: str = "remote", more: str = "") -> None:
    """Write a spec that names a block by its digest."""
    spec = SPEC.format(name=name, more=more).replace(f"{name}.wasm", f"sha256:{sha256(data)}")
    (folder / f"{name}.yaml").write_text(spec)


def forgotten(api: Api, data: bytes) -> httpx.Response:
    return api.http.delete(f"/v1/blocks/{sha256(data)}")


def test_an_upload_that_no_spec_names_can_be_forgotten_once(own: Api, tmp_path: Path) -> None:
    put(own, b" echo")

    answer = forgotten(own, b" echo")

    assert (answer.status_code, answer.content) == (204, b"")
    assert kept(tmp_path) == []
    refused(own.http.get(f"/v1/blocks/{sha256(b' echo')}"), 404, "unknown_block")
    refused(forgotten(own, b" echo"), 404, "unknown_block")
    assert put(own, b" echo").status_code == 201


def test_an_upload_that_a_spec_names_stays_and_the_spec_is_said(own: Api, tmp_path: Path) -> None:
    put(own, b"echo ")
    spec_by_digest(tmp_path / "specs", b"echo ")

    answer = forgotten(own, b"echo ")

    refused(answer, 409, "block_in_use")
    assert "used by `remote`; let them name another" in answer.json()["detail"]
    assert own.ended(own.submit("remote", 5))["envelope"]["result"] == 5


def test_a_spec_with_another_fault_keeps_its_block_too(own: Api, tmp_path: Path) -> None:
    put(own, b"echo ")
    spec_by_digest(tmp_path / "specs", b"echo ", more="input: missing.json")

    answer = forgotten(own, b"echo ")

    refused(answer, 409, "block_in_use")
    assert "`remote.yaml`" in answer.json()["detail"]
    (tmp_path / "specs" / "remote.yaml").unlink()
    assert forgotten(own, b"echo ").status_code == 204


def test_a_file_that_a_spec_names_is_not_the_hosts_to_forget(own: Api) -> None:
    answer = forgotten(own, b"echo")

    refused(answer, 409, "block_in_use")
    assert "`echo`; it was never uploaded" in answer.json()["detail"]


def test_an_upload_of_what_specs_have_as_a_file_can_be_taken_back(own: Api) -> None:
    put(own, b"echo")

    assert forgotten(own, b"echo").status_code == 204

    shown = own.http.get(f"/v1/blocks/{sha256(b'echo')}").json()
    assert (shown["uploaded"], shown["specs"]) == (False, ["echo"])


def test_a_job_that_runs_keeps_a_block_that_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    gate = Gate()
    with served(tmp_path / "specs", {"gate": gate.script}, state=tmp_path) as own:
        put(own, b"gate ")
        spec_by_digest(tmp_path / "specs", b"gate ")
        job = own.submit("remote", 5)
        own.emitted(job, "waiting")
        (tmp_path / "specs" / "remote.yaml").unlink()
        assert forgotten(own, b"gate ").status_code == 204
        gate.open()

        assert own.ended(job)["envelope"]["result"] == 5


def test_a_block_that_cannot_be_removed_is_said(own: Api, tmp_path: Path) -> None:
    put(own, b" echo")
    kept_file = tmp_path / "blocks" / f"{sha256(b' echo')}.wasm"
    kept_file.unlink()
    kept_file.mkdir()  # even root cannot unlink a folder

    refused(forgotten(own, b" echo"), 507, "store_unavailable")


def test_a_host_that_cannot_keep_a_block_says_so(own: Api, tmp_path: Path) -> None:
    (tmp_path / "blocks").rmdir()

    answer = put(own, b"echo")

    refused(answer, 507, "store_unavailable")
    assert int(answer.headers["Retry-After"]) > 0
