"""What a job's input and result must look like: the block's signature and the spec's JSON Schemas."""

from collections.abc import Iterator, Sequence

import jsonschema_rs

from cuttlebone.errors import CallerError, FieldFault, JobError, OperatorError, ProblemCode
from cuttlebone.text import printable
from cuttlebone.text.json_values import pointer
from cuttlebone_abi import ErrorCode, Json, Signature, json_path, mismatches

FAULTS_SHOWN_MAX = 16


class IoSchemas:
    """Checks input and result of one spec's jobs. Immutable; any thread may use it."""

    def __init__(
        self, signature: Signature, *, input_schema: Json = True, output_schema: Json = True
    ) -> None:
        """`True` is the JSON Schema that accepts everything. Raises OperatorError for a bad schema."""
        self._signature = signature
        self._input = _validator(input_schema, "input")
        self._output = _validator(output_schema, "output")

    def check_input(self, value: Json, whose: str) -> None:
        """Raise CallerError with all that is wrong with a job's input, at most FAULTS_SHOWN_MAX faults.

        They point into the submission, so each begins with `/input`. `whose` shapes these are
        stands in the message.
        """
        wrong = [
            (mismatch.location, mismatch.reason)
            for mismatch in mismatches(value, self._signature.input)
        ]
        wrong.extend(_faults(self._input, value))
        if not wrong:
            return
        faults = [(pointer(location), reason) for location, reason in wrong[:FAULTS_SHOWN_MAX]]
        first, reason = faults[0]
        raise CallerError(
            ProblemCode.SCHEMA_VALIDATION_FAILED,
            f"the input does not fit {whose}: {first or '(the whole input)'}: {reason}",
            faults=tuple(FieldFault("/input" + where, reason) for where, reason in faults),
        )

    def check_result(self, value: Json) -> None:
        """Raise JobError with the JSON path of the first fault of a job's result."""
        for mismatch in mismatches(value, self._signature.output):
            raise _bad_result(mismatch.location, mismatch.reason)
        for location, message in _faults(self._output, value):
            raise _bad_result(location, message)


def _bad_result(location: Sequence[int | str], reason: str) -> JobError:
    where = json_path(("result", *location))
    return JobError(ErrorCode.SCHEMA_VALIDATION_FAILED, f"{where}: {reason}")


def _validator(schema: Json, name: str) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse_remote)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = printable(str(error).splitlines()[0])
        raise OperatorError(f"`{name}` is not a JSON Schema: {reason}") from None


def _refuse_remote(uri: str) -> Json:
    """Keep validation on this machine: a schema may not fetch another one."""
    raise ValueError(f"a schema may not refer to {printable(uri)}; copy that schema into the spec")


def _faults(
    validator: jsonschema_rs.Validator, value: Json
) -> Iterator[tuple[tuple[int | str, ...], str]]:
    for error in validator.iter_errors(value):
        yield tuple(error.instance_path), printable(error.message)
