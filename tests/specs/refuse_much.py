"""Refuses a large wrong input in a process of its own, whose memory is then known. Run by test_io_schemas.py.

Writes how many bytes the process grew by, beyond the parsed input.
"""

import json
import resource
import sys

from cuttlebone.errors import CallerError
from cuttlebone.specs.io_schemas import IoSchemas
from cuttlebone_abi import Signature, load_json, parse_type


def main(kind: str, signature: str, schema: str) -> None:
    """Refuse an input of half a million wrong parts."""
    part = {"list": b"[]", "number": b"1"}[kind]
    sent = b"[" + b",".join([part] * 500_000) + b"]"
    value = load_json(sent)
    io_schemas = IoSchemas(Signature(input=parse_type(signature)), input_schema=json.loads(schema))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        io_schemas.check_input(value, "the spec `s`")
    except CallerError as error:
        told = sum(len(one.pointer) + len(one.message) for one in error.faults)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    sys.stdout.write(json.dumps({"sent": len(sent), "grown": grown, "told": told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
