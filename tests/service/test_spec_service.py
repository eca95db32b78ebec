"""What a host says that it can run, and the blocks that come and go."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuttlebone.errors import CallerError, ProblemCode
from cuttlebone.service.host import Host
from cuttlebone.service.spec_service import SpecService
from cuttlebone.specs.block_registry import BLOCK_BYTES_MAX
from guest_scripts import echo
from hosts import scripted_host

ECHO = b"echo"
DIGITS = hashlib.sha256(ECHO).hexdigest()
CAPABILITIES = "capabilities: {read: [texts]}\n"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    (tmp_path / "texts").mkdir()
    with scripted_host(tmp_path, {"echo": echo}, more=CAPABILITIES) as running:
        yield running


@pytest.fixture
def specs(host: Host) -> SpecService:
    return host.specs


def upload(specs: SpecService, wasm: bytes, digits: str) -> bool:
    with specs.upload(digits, bytes_announced=len(wasm)) as incoming:
        incoming.write(wasm)
        return incoming.finish()[1]


def test_a_spec_is_told_with_its_block_and_what_its_jobs_may_read(specs: SpecService) -> None:
    (known,) = specs.specs()

    assert known == specs.spec("echo")
    assert (known.name, known.read, known.model) == ("echo", ("texts",), None)
    assert known.block.digest == f"sha256:{DIGITS}"


def test_a_spec_that_is_not_there_is_refused(specs: SpecService) -> None:
    with pytest.raises(CallerError) as refused:
        specs.spec("nope")
    assert refused.value.code is ProblemCode.UNKNOWN_SPEC


def test_a_spec_file_with_a_fault_is_told_beside_what_is_served(
    specs: SpecService, tmp_path: Path
) -> None:
    (tmp_path / "broken.yaml").write_text("name: [")

    assert [one.name for one in specs.specs()] == ["echo"]
    assert [path.name for path in specs.faults()] == ["broken.yaml"]


def test_the_block_of_a_spec_is_known_as_a_file_of_the_host(specs: SpecService) -> None:
    (known,) = specs.blocks()

    assert known == specs.block(DIGITS)
    assert (known.digits, known.uploaded, known.specs) == (DIGITS, False, ("echo",))


def test_a_block_that_was_uploaded_is_known_until_it_is_forgotten(specs: SpecService) -> None:
    other = b" echo"
    digits = hashlib.sha256(other).hexdigest()

    assert upload(specs, other, digits)
    assert not upload(specs, other, digits)
    assert specs.block(digits).uploaded
    specs.forget_block(digits)
    with pytest.raises(CallerError) as refused:
        specs.block(digits)
    assert refused.value.code is ProblemCode.UNKNOWN_BLOCK


def test_a_block_that_a_spec_names_is_not_forgotten(specs: SpecService) -> None:
    with pytest.raises(CallerError, match="`echo`") as refused:
        specs.forget_block(DIGITS)
    assert refused.value.code is ProblemCode.BLOCK_IN_USE


def test_a_block_that_announces_itself_as_too_long_is_refused_before_it_comes(
    specs: SpecService,
) -> None:
    with pytest.raises(CallerError) as refused:
        specs.upload(DIGITS, bytes_announced=BLOCK_BYTES_MAX + 1)
    assert refused.value.code is ProblemCode.BODY_TOO_LARGE
