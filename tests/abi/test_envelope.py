"""The envelope is fixed: three forms, no field more, nothing that is null for want of a value."""

import pytest
from pydantic import ValidationError

from cuttlebone_abi import (
    Cancelled,
    Completed,
    ErrorCode,
    Failed,
    Failure,
    JobStatus,
    Usage,
    dump_json,
)

USAGE = Usage(tokens_in=1, tokens_out=2, duration_ms=3, model="")


def test_a_completed_envelope_has_a_result_and_no_error() -> None:
    written = dump_json(Completed(result=None, usage=USAGE))

    assert written == (
        b'{"status":"completed","result":null,'
        b'"usage":{"tokens_in":1,"tokens_out":2,"duration_ms":3,"model":""}}'
    )


@pytest.mark.parametrize("form", [Failed, Cancelled])
def test_a_failed_or_cancelled_envelope_has_an_error_and_no_result(
    form: type[Failed | Cancelled],
) -> None:
    envelope = form(error=Failure(code=ErrorCode.CANCELLED, message="by request"), usage=USAGE)

    assert list(envelope.model_dump()) == ["status", "error", "usage"]


def test_an_envelope_cannot_be_changed() -> None:
    envelope = Completed(result=1, usage=USAGE)

    with pytest.raises(ValidationError, match="frozen"):
        envelope.result = 2


def test_usage_over_its_width_is_refused() -> None:
    with pytest.raises(ValidationError, match="less than 4294967296"):
        Usage(tokens_in=2**32, tokens_out=0, duration_ms=0, model="")


def test_only_the_last_three_states_are_final() -> None:
    assert [status for status in JobStatus if status.final] == ["completed", "failed", "cancelled"]
