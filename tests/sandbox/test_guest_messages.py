"""Messages between host and guest program arrive as they were sent, or not at all."""

import pytest

from cuttlebone.errors import FaultKind, JobError
from cuttlebone.locked_process.frames import BrokenFrame
from cuttlebone.sandbox import GuestLimits
from cuttlebone.sandbox.description import Description
from cuttlebone.sandbox.guest_messages import (
    pack_description,
    pack_job_error,
    pack_limits,
    unpack_description,
    unpack_job_error,
    unpack_limits,
)
from cuttlebone_abi import ErrorCode


@pytest.mark.parametrize(
    "description", [Description(None, None), Description(1, b""), Description(None, b"{}")]
)
def test_a_description_survives_the_way(description: Description) -> None:
    assert unpack_description(pack_description(description)) == description


def test_a_description_that_is_cut_is_a_violation() -> None:
    with pytest.raises(BrokenFrame):
        unpack_description(b"1234")


@pytest.mark.parametrize("limits", [GuestLimits(), GuestLimits(memory_bytes=1 << 40, fuel=7)])
def test_limits_survive_the_way(limits: GuestLimits) -> None:
    assert unpack_limits(pack_limits(limits)) == limits


def test_an_error_of_a_job_survives_the_way() -> None:
    words = b'{"cmd":\n"fail"}\n\xff'
    sent = JobError(ErrorCode.WASM_TRAP, "it: trapped", fault=FaultKind.TRAP, last_words=words)
    error = unpack_job_error(pack_job_error(sent))
    assert (error.code, error.message, error.fault) == (sent.code, sent.message, sent.fault)
    assert error.last_words == words


@pytest.mark.parametrize("code", ErrorCode)
def test_only_what_wasm_can_end_in_is_believed(code: ErrorCode) -> None:
    packed = pack_job_error(JobError(code, "so it says"))
    if code in (ErrorCode.WASM_TRAP, ErrorCode.LIMIT_EXCEEDED):
        assert unpack_job_error(packed).code is code
    else:
        with pytest.raises(BrokenFrame, match=str(code)):
            unpack_job_error(packed)
