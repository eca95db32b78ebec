"""The contract between host and guest: types, codec, signatures. Knows nothing of the host.

A name is loaded when it is first used. Whoever needs the error codes alone, as each locked process
does, has neither pydantic nor a parser in memory.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cuttlebone_abi.codec import (
        COMMAND_BYTES_MAX,
        INTEGER_DIGITS_MAX,
        JSON_DEPTH_MAX,
        JSON_NODES_MAX,
        MalformedMessage,
        OversizedMessage,
        decode_command,
        decode_envelope,
        decode_event,
        dump_json,
        json_path,
        load_json,
    )
    from cuttlebone_abi.codes import ErrorCode, JobStatus
    from cuttlebone_abi.commands import (
        Answered,
        Close,
        Command,
        CountTokens,
        Done,
        Emit,
        Fail,
        Infer,
        InferMany,
        InferRequest,
        List,
        Message,
        NotOffered,
        Open,
        Slice,
        SliceBytes,
    )
    from cuttlebone_abi.envelope import Cancelled, Completed, Envelope, Failed, Failure, Usage
    from cuttlebone_abi.events import (
        BinaryKind,
        Closed,
        DocumentKind,
        Emitted,
        Entry,
        ErrorEvent,
        Event,
        FileKind,
        Finish,
        ImageKind,
        InferDone,
        InferFault,
        InferManyDone,
        InferResult,
        Listed,
        Opened,
        Sliced,
        SlicedBytes,
        TextKind,
        TokensCounted,
    )
    from cuttlebone_abi.scalars import U32, U64, Json, Number
    from cuttlebone_abi.signatures import (
        InvalidSignature,
        Mismatch,
        Signature,
        mismatches,
        parse_signature,
        parse_type,
    )

ABI_VERSION = 1

_MODULES: Final = {
    "codec": (
        "COMMAND_BYTES_MAX",
        "INTEGER_DIGITS_MAX",
        "JSON_DEPTH_MAX",
        "JSON_NODES_MAX",
        "MalformedMessage",
        "OversizedMessage",
        "decode_command",
        "decode_envelope",
        "decode_event",
        "dump_json",
        "json_path",
        "load_json",
    ),
    "codes": (
        "ErrorCode",
        "JobStatus",
    ),
    "commands": (
        "Answered",
        "Close",
        "Command",
        "CountTokens",
        "Done",
        "Emit",
        "Fail",
        "Infer",
        "InferMany",
        "InferRequest",
        "List",
        "Message",
        "NotOffered",
        "Open",
        "Slice",
        "SliceBytes",
    ),
    "envelope": (
        "Cancelled",
        "Completed",
        "Envelope",
        "Failed",
        "Failure",
        "Usage",
    ),
    "events": (
        "BinaryKind",
        "Closed",
        "DocumentKind",
        "Emitted",
        "Entry",
        "ErrorEvent",
        "Event",
        "FileKind",
        "Finish",
        "ImageKind",
        "InferDone",
        "InferFault",
        "InferManyDone",
        "InferResult",
        "Listed",
        "Opened",
        "Sliced",
        "SlicedBytes",
        "TextKind",
        "TokensCounted",
    ),
    "scalars": (
        "U32",
        "U64",
        "Json",
        "Number",
    ),
    "signatures": (
        "InvalidSignature",
        "Mismatch",
        "Signature",
        "mismatches",
        "parse_signature",
        "parse_type",
    ),
}
_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:  # which knows every name by its import

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


__all__ = [
    "ABI_VERSION",
    "COMMAND_BYTES_MAX",
    "INTEGER_DIGITS_MAX",
    "JSON_DEPTH_MAX",
    "JSON_NODES_MAX",
    "U32",
    "U64",
    "Answered",
    "BinaryKind",
    "Cancelled",
    "Close",
    "Closed",
    "Command",
    "Completed",
    "CountTokens",
    "DocumentKind",
    "Done",
    "Emit",
    "Emitted",
    "Entry",
    "Envelope",
    "ErrorCode",
    "ErrorEvent",
    "Event",
    "Fail",
    "Failed",
    "Failure",
    "FileKind",
    "Finish",
    "ImageKind",
    "Infer",
    "InferDone",
    "InferFault",
    "InferMany",
    "InferManyDone",
    "InferRequest",
    "InferResult",
    "InvalidSignature",
    "JobStatus",
    "Json",
    "List",
    "Listed",
    "MalformedMessage",
    "Message",
    "Mismatch",
    "NotOffered",
    "Number",
    "Open",
    "Opened",
    "OversizedMessage",
    "Signature",
    "Slice",
    "SliceBytes",
    "Sliced",
    "SlicedBytes",
    "TextKind",
    "TokensCounted",
    "Usage",
    "decode_command",
    "decode_envelope",
    "decode_event",
    "dump_json",
    "json_path",
    "load_json",
    "mismatches",
    "parse_signature",
    "parse_type",
]
