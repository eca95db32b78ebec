"""What a job's input and result must look like: the block's signature and the spec's JSON Schemas."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import jsonschema_rs

from cuttlebone.errors import CallerError, FieldFault, JobError, OperatorError, ProblemCode
from cuttlebone.text import printable
from cuttlebone.text.fault_lists import and_more, cut_pointer, first_faults
from cuttlebone.text.json_values import pointer
from cuttlebone_abi import ErrorCode, Json, Signature, json_path, mismatches
from cuttlebone_abi.walking import walk

PARTS_SEARCHED_MAX: Final = 2_000
"""Parts of a value up to which all faults against a JSON Schema are looked for. The library makes all
of them at once, each with a copy of its part: 64 KiB of input can take it 1 s and 100 MiB."""
_ALTERNATIVES: Final = frozenset({"anyOf", "oneOf"})
"""Of each of these the library finds all faults of all branches to tell of one."""

Found: TypeAlias = tuple[tuple[int | str, ...], str]
"""Where a fault is, and what is wrong there."""


class IoSchemas:
    """Checks input and result of one spec's jobs. Immutable; any thread may use it."""

    def __init__(
        self, signature: Signature, *, input_schema: Json = True, output_schema: Json = True
    ) -> None:
        """`True` is the JSON Schema that accepts everything. Raises OperatorError for a bad schema."""
        self._signature = signature
        self._input = _Schema(input_schema, "input")
        self._output = _Schema(output_schema, "output")

    def check_input(self, value: Json, whose: str) -> None:
        """Raise CallerError with what is wrong with a job's input: the first faults of each kind.

        They point into the submission, so each begins with `/input`. `whose` shapes these are
        stands in the message.
        """
        wrong = [*self._signature_faults(value), *_told(*first_faults(self._input.faults(value)))]
        if not wrong:
            return
        first = wrong[0]
        raise CallerError(
            ProblemCode.SCHEMA_VALIDATION_FAILED,
            f"the input does not fit {whose}: {first.pointer or '(the whole input)'}: {first.message}",
            faults=tuple(FieldFault("/input" + one.pointer, one.message) for one in wrong),
        )

    def check_result(self, value: Json) -> None:
        """Raise JobError with the JSON path of the first fault of a job's result."""
        for mismatch in mismatches(value, self._signature.output):
            raise _bad_result(mismatch.location, mismatch.reason)
        for location, message in self._output.faults(value):
            raise _bad_result(location, message)

    def _signature_faults(self, value: Json) -> list[FieldFault]:
        shown, more = first_faults(mismatches(value, self._signature.input))
        return _told([(one.location, one.reason) for one in shown], more)


class _Schema:
    """One JSON Schema. Immutable."""

    def __init__(self, schema: Json, name: str) -> None:
        self._validator = _validator(schema, name)
        self._name = name
        self._alternatives = any(
            isinstance(part, dict) and not part.keys().isdisjoint(_ALTERNATIVES)
            for part, _ in walk(schema)
        )

    def faults(self, value: Json) -> Iterator[Found]:
        """What is wrong with a value: everything in a small one, the first fault in a large one."""
        if self._validator.is_valid(value):
            return
        if _parts_at_most(value, PARTS_SEARCHED_MAX):
            found = self._validator.iter_errors(value)
            yield from ((tuple(error.instance_path), printable(error.message)) for error in found)
            return
        yield self._first_fault(value)

    def _first_fault(self, value: Json) -> Found:
        unsearched = f"more is not told of a value with more than {PARTS_SEARCHED_MAX} parts"
        if not self._alternatives:
            try:
                self._validator.validate(value)
            except jsonschema_rs.ValidationError as error:
                return tuple(error.instance_path), f"{printable(error.message)}; {unsearched}"
        return (), f"does not fit the JSON Schema `{self._name}` of the spec; {unsearched}"


def _told(shown: Sequence[Found], more: int) -> list[FieldFault]:
    faults = [FieldFault(cut_pointer(pointer(location)), reason) for location, reason in shown]
    return [*faults, FieldFault("", and_more(more))] if more else faults


def _parts_at_most(value: Json, most: int) -> bool:
    """Whether a value has no more parts than that, looking at no more of them."""
    pending, seen = [value], 0
    while pending:
        part = pending.pop()
        seen += 1
        inside = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        if seen + len(pending) + len(inside) > most:
            return False
        pending.extend(inside)
    return True


def _bad_result(location: Sequence[int | str], reason: str) -> JobError:
    where = cut_pointer(json_path(("result", *location)))
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
