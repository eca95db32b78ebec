"""The host's endpoint file: all endpoints under the key `endpoints`, each role once."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from cuttlebone.endpoints.config.spec.reading import read_spec, write_spec
from cuttlebone.endpoints.config.spec.refusals import InvalidConfig, MalformedSpec
from cuttlebone.endpoints.config.spec.rules import validate
from cuttlebone.endpoints.config.spec.types import InferenceSpec
from cuttlebone.errors import OperatorError
from cuttlebone.saving import save
from cuttlebone.text.documents import DOCUMENT_BYTES_MAX
from cuttlebone.text.json_values import Json, shown

FILE_KEY: Final = "endpoints"
ENDPOINTS_MAX: Final = 1024
_MODE: Final = 0o644


def read_endpoints(value: object) -> tuple[InferenceSpec, ...]:
    """Read the document of an endpoint file; raise MalformedSpec or InvalidConfig.

    Every spec in it is valid, and no role stands in it twice.
    """
    listed = value[FILE_KEY] if isinstance(value, dict) and set(value) == {FILE_KEY} else None
    if not isinstance(listed, list):
        reason = f"an endpoint file is an object with the one key {FILE_KEY}, a list of specs"
        raise MalformedSpec("", reason)
    if len(listed) > ENDPOINTS_MAX:
        reason = f"{len(listed)} endpoints are too many; at most {ENDPOINTS_MAX} are allowed"
        raise InvalidConfig(FILE_KEY, reason)
    specs = tuple(_read_one(at, document) for at, document in enumerate(listed))
    refuse_repeated_roles(specs)
    return specs


def write_endpoints(specs: Iterable[InferenceSpec]) -> dict[str, Json]:
    """Write specs as the document of an endpoint file."""
    return {FILE_KEY: [write_spec(spec) for spec in specs]}


def refuse_repeated_roles(specs: Sequence[InferenceSpec]) -> None:
    """Raise InvalidConfig if two specs have one role: a host could not tell which to serve."""
    first_at: dict[str, int] = {}
    for at, spec in enumerate(specs):
        if first_at.setdefault(spec.role, at) != at:
            reason = (
                f"the role {shown(spec.role)} stands at {first_at[spec.role]} and at {at}; "
                "give each endpoint a role of its own"
            )
            raise InvalidConfig(f"{FILE_KEY}[{at}].role", reason)


def merged(
    served: Sequence[InferenceSpec], added: Sequence[InferenceSpec], *, replaces: bool
) -> tuple[InferenceSpec, ...]:
    """Add specs to those of a file, new roles at the end.

    Raises InvalidConfig for a role that the file has with other values, unless `added` replaces it.
    """
    by_role = {spec.role: spec for spec in served}
    for spec in added:
        if not replaces and by_role.get(spec.role, spec) != spec:
            at = [one.role for one in served].index(spec.role)
            reason = (
                f"the role {shown(spec.role)} is served already, with other values; "
                "remove it from the file, or let the new one replace it (--replace)"
            )
            raise InvalidConfig(f"{FILE_KEY}[{at}].role", reason)
        by_role[spec.role] = spec
    return tuple(by_role.values())


def save_endpoints(path: Path, specs: Iterable[InferenceSpec]) -> None:
    """Write an endpoint file so that a reader sees the old one or the new one, whatever happens.

    Raises OperatorError if it would be too large to be read again, or cannot be written.
    """
    data = (json.dumps(write_endpoints(specs), indent=2) + "\n").encode()
    if len(data) > DOCUMENT_BYTES_MAX:
        raise OperatorError(
            f"{path} would have {len(data)} bytes; at most {DOCUMENT_BYTES_MAX} are read again"
        )
    try:
        file = path.resolve()
        mode = file.stat().st_mode & 0o7777 if file.exists() else _MODE
        save(file, data, mode=mode)
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}") from None


def _read_one(at: int, document: object) -> InferenceSpec:
    place = f"{FILE_KEY}[{at}]"
    try:
        spec = read_spec(document)
        validate(spec)
    except MalformedSpec as refusal:
        field = f"{place}.{refusal.field}" if refusal.field else place
        raise MalformedSpec(field, refusal.reason) from None
    except InvalidConfig as refusal:
        raise InvalidConfig(f"{place}.{refusal.field}", refusal.reason) from None
    return spec
