"""An example of each refusal, for the OpenAPI document."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cuttlebone.api.examples import DIGITS, JOB_ID, JOB_PATH
from cuttlebone.errors import ProblemCode

PROBLEM_INSTANCE: Final = "/v1/jobs"
PROBLEM_DETAILS: Final[Mapping[ProblemCode, str]] = MappingProxyType(
    {
        ProblemCode.BAD_REQUEST: "`limit` in the query: should be less than or equal to 200, but is '999'",
        ProblemCode.MALFORMED_JSON: "not valid JSON: expected value at line 1 column 9",
        ProblemCode.INVALID_BODY: "/inputs: unknown key; did you mean `input`?",
        ProblemCode.SCHEMA_VALIDATION_FAILED: (
            "the input does not fit the spec `summarize`: (the whole input): "
            '"path" is a required property'
        ),
        ProblemCode.UNSUPPORTED_MEDIA_TYPE: (
            "send the body as `Content-Type: application/json`, not as 'text/plain'"
        ),
        ProblemCode.BODY_TOO_LARGE: (
            "a body has at most 65536 bytes (`body_bytes_max`); "
            "give the path of a file instead of its content"
        ),
        ProblemCode.UNKNOWN_ROUTE: "nothing is at /v2; GET /openapi.json lists what there is",
        ProblemCode.METHOD_NOT_ALLOWED: "this path takes GET, POST, not DELETE",
        ProblemCode.UNKNOWN_JOB: f"there is no job '{JOB_ID}', or it was forgotten",
        ProblemCode.UNKNOWN_SPEC: "no spec is named 'sumarize'; GET /v1/specs lists them",
        ProblemCode.SPEC_UNUSABLE: (
            "the spec 'translate' has a fault that the operator of this host has to mend"
        ),
        ProblemCode.NOT_FINAL: f"the job is running; wait for it with GET {JOB_PATH}?wait=30",
        ProblemCode.QUEUE_FULL: "1000 jobs wait already (`jobs_waiting_max`); try again later",
        ProblemCode.QUOTA_EXCEEDED: (
            "more than 200 requests a second with the token agent "
            "(`token_requests_per_s_max`); slow down"
        ),
        ProblemCode.JOB_EXISTS: (
            "there is another job with the id nightly-2026-01-31; choose a new id for a new request"
        ),
        ProblemCode.IDEMPOTENCY_MISMATCH: (
            "this Idempotency-Key was used for another request; use a new key for a new request"
        ),
        ProblemCode.BODY_TIMEOUT: (
            "after 4096 bytes of the body nothing came for 30.0 s; a body may not stand still for "
            "30 s (`stall_timeout_s`), and has to come with at least 4096 bytes a second on "
            "average once the host has waited that long in all"
        ),
        ProblemCode.TOO_MANY_CONNECTIONS: (
            "1000 connections are open already (`connections_max`); "
            "close those that are not used, and try again later"
        ),
        ProblemCode.BLOCK_IN_USE: (
            f"the block {DIGITS} is used by `summarize`; let them name another block first"
        ),
        ProblemCode.UNKNOWN_BLOCK: (
            f"no block has the SHA-256 '{DIGITS}'; GET /v1/blocks lists them"
        ),
        ProblemCode.DIGEST_MISMATCH: (
            f"the 8412 bytes that came have the SHA-256 {DIGITS}; "
            "send the file whose digest stands in the path"
        ),
        ProblemCode.BLOCK_REFUSED: (
            "this is no usable block: imports the function `env.abort`, but a block has no "
            "imports: AssemblyScript: compile with --use abort="
        ),
        ProblemCode.UNAUTHENTICATED: (
            "this host asks for a token; send it as `Authorization: Bearer …` "
            "(its operator makes one with `cuttlebone token add`)"
        ),
        ProblemCode.MISSING_SCOPE: (
            "this takes a token with the scope `submit`; the token viewer has `read`"
        ),
        ProblemCode.HEAD_TOO_LARGE: "the head of a request has at most 64 headers",
        ProblemCode.FORBIDDEN_HOST: (
            "this host does not answer as 'example.org', only as 127.0.0.1, [::1], localhost"
        ),
        ProblemCode.FORBIDDEN_ORIGIN: (
            "web pages of 'https://example.org' may not use this host; "
            "programs leave the `Origin` header out"
        ),
        ProblemCode.STOPPING: "this host is stopping; submit again when it is back",
        ProblemCode.MISCONFIGURED: (
            "the operator of this host has to mend this: "
            "the specs folder specs cannot be read: No such file or directory"
        ),
        ProblemCode.STORE_UNAVAILABLE: (
            "this host cannot keep anything now: database or disk is full; "
            "nothing was changed, try again later"
        ),
        ProblemCode.INTERNAL: "a fault of the host; its log has the details under 5c1d0f3a9b7e",
    }
)
