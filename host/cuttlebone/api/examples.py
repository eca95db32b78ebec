"""Examples of every request and answer, for the OpenAPI document."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cuttlebone.job_options import Limits
from cuttlebone_abi import Json

JOB_ID: Final = "3f0c6a1e5b7d4c2f9a8e1d0b6c5f4a3e"
JOB_PATH: Final = f"/v1/jobs/{JOB_ID}"
_DIGEST: Final = "sha256:" + "7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730"
_LIMITS: Final[Json] = Limits(time_ms=30_000).model_dump()

SUBMISSIONS: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "least": {"spec": "summarize", "input": {"path": "texts/tide-mill.txt"}},
        "all": {
            "spec": "summarize",
            "input": {"path": "texts/tide-mill.txt", "window": 2048},
            "limits": {"time_ms": 30_000, "tokens_out": 512},
            "labels": {"team": "research"},
            "priority": "interactive",
            "ttl_s": 86_400,
            "expires_in_s": 600,
            "record": "full",
        },
    }
)

_USAGE: Final[Json] = {
    "tokens_in": 1423,
    "tokens_out": 61,
    "duration_ms": 2874,
    "model": "smollm2",
}

ENVELOPES: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "completed": {
            "status": "completed",
            "result": {"summary": "The tide mill still grinds.", "windows": 4, "bytes": 4225},
            "usage": _USAGE,
        },
        "failed": {
            "status": "failed",
            "error": {
                "code": "timeout",
                "message": "time_ms: the job ran for 30000 ms without an end",
            },
            "usage": _USAGE,
        },
        "cancelled": {
            "status": "cancelled",
            "error": {"code": "cancelled", "message": "cancelled by request"},
            "usage": _USAGE,
        },
    }
)

_SUMMARY: Final[dict[str, Json]] = {
    "id": JOB_ID,
    "spec": "summarize",
    "status": "queued",
    "attempt": 0,
    "created_at": "2026-01-31T09:30:00.125000Z",
    "started_at": None,
    "finished_at": None,
    "labels": {"team": "research"},
    "priority": "batch",
    "ttl_s": None,
    "expires_at": None,
    "record": "digests",
    "cancel_requested": False,
    "links": {
        "self": JOB_PATH,
        "events": f"{JOB_PATH}/events",
        "result": f"{JOB_PATH}/result",
        "cancel": f"{JOB_PATH}/cancel",
        "journal": f"{JOB_PATH}/journal",
        "spec": "/v1/specs/summarize",
    },
}

_QUEUED: Final[dict[str, Json]] = {
    **_SUMMARY,
    "queue": {"position": 2, "waiting_for": "a free job thread"},
    "progress": None,
    "callback_url": None,
    "callback_state": None,
    "limits": _LIMITS,
    "block_sha256": "0a3b94d1b1cf0a2d3c6c0f2a8f5cf1d1b8a7a1d2a6f4a1f6f1f0e3a5d7c9b1e3",
    "spec_sha256": "c41b7bd1a2f07ae33a7b2a5d3a8e6f90b1c2d3e4f5061728394a5b6c7d8e9f00",
    "accounting": None,
    "envelope": None,
}

_RUNNING: Final[dict[str, Json]] = {
    **_QUEUED,
    "status": "running",
    "attempt": 1,
    "started_at": "2026-01-31T09:30:01.500000Z",
    "queue": None,
    "progress": {"window": 3, "offset": 1810, "len": 897, "file_len": 4225},
}

_COMPLETED: Final[dict[str, Json]] = {
    **_RUNNING,
    "status": "completed",
    "finished_at": "2026-01-31T09:30:04.374000Z",
    "progress": {"merge": 1, "sentences": 4},
    "callback_url": "https://hooks.example.org/jobs",
    "callback_state": "delivered",
    "accounting": {
        "queue_ms": 1375,
        "guest_ms": 12,
        "infer_ms": 2840,
        "infer_wait_ms": 3,
        "prefill_ms": 910,
        "decode_ms": 1927,
        "host_ms": 22,
        "steps": 29,
        "memory_bytes_peak": 1_114_112,
        "fuel": None,
        "tokens_cached": 96,
    },
    "envelope": ENVELOPES["completed"],
}

JOBS: Final[Mapping[str, Json]] = MappingProxyType(
    {"queued": _QUEUED, "running": _RUNNING, "completed": _COMPLETED}
)

JOB_PAGE: Final[Json] = {"jobs": [_SUMMARY], "cursor": "eyJiZWZvcmUiOiIzZjBjIn0"}

EVENTS: Final = (
    'event: snapshot\ndata: {"id":"3f0c…","status":"running",…}\n\n'
    'event: status\ndata: {"status":"queued"}\nid: 1\n\n'
    'event: status\ndata: {"status":"running","attempt":1}\nid: 2\n\n'
    'event: progress\ndata: {"window":1,"offset":0,"len":1021,"file_len":4225}\nid: 3\n\n'
    'event: token\ndata: {"text":"The"}\nid: 4\n\n'
    ": ping\n\n"
    'event: status\ndata: {"status":"completed"}\nid: 5\n\n'
    'event: result\ndata: {"status":"completed","result":…,"usage":…}\nid: 6\n\n'
)

SPEC: Final[Json] = {
    "name": "summarize",
    "description": "Use when you need a short summary of a local text file.",
    "model": "smollm2",
    "block": {"digest": _DIGEST, "size_bytes": 8412, "abi_version": 1},
    "signature": {
        "input": "{path: text}",
        "output": "{summary: text, windows: number, bytes: number}",
    },
    "input_schema": {
        "type": "object",
        "required": ["path"],
        "properties": {"path": {"type": "string"}},
    },
    "output_schema": {"type": "object", "required": ["summary"]},
    "limits": _LIMITS,
    "grants": {"read": ["./texts"], "follow_symlinks": False},
    "data_policy": "local_only",
    "links": {"self": "/v1/specs/summarize", "jobs": "/v1/jobs?spec=summarize"},
}

SPECS: Final[Json] = {
    "specs": [SPEC],
    "unusable": [
        {
            "file": "translate.yaml",
            "fault": "specs/translate.yaml:3: unknown key `modle`; did you mean `model`?",
        }
    ],
}

DIGITS: Final = _DIGEST.removeprefix("sha256:")

BLOCK: Final[Json] = {
    "digest": _DIGEST,
    "size_bytes": 8412,
    "abi_version": 1,
    "signature": SPEC["signature"],
    "uploaded": True,
    "specs": ["summarize"],
    "links": {"self": f"/v1/blocks/{DIGITS}"},
}

BLOCKS: Final[Json] = {"blocks": [BLOCK]}

WASM: Final = "(the bytes of a wasm module)"

JOURNAL: Final[Json] = {
    "format": 1,
    "id": JOB_ID,
    "spec": "summarize",
    "recording": "digests",
    "attempt": 1,
    "status": "running",
    "input": {"path": "texts/tide-mill.txt"},
    "limits": _LIMITS,
    "steps": [
        {
            "step": 1,
            "command": "open",
            "command_sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
            "command_json": None,
            "event_sha256": "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9",
            "event_json": None,
            "pieces": [],
            "tokens_in": 0,
            "tokens_out": 0,
        }
    ],
    "envelope": None,
}

MODELS: Final[Json] = {
    "models": [
        {
            "role": "smollm2",
            "state": "ready",
            "progress": None,
            "reason": None,
            "file": "SmolLM2-135M-Instruct.Q4_1.gguf",
            "context_tokens": 4096,
        }
    ]
}

HEALTH: Final[Json] = {"status": "alive", "version": "0.1.0"}
_LAYERS: Final[Json] = {
    "process": "on",
    "rlimits": "on",
    "no_new_privs": "on",
    "landlock": "off: the kernel has no Landlock",
    "seccomp": "on",
}
READY: Final[Json] = {"ready": True, "reasons": [], "isolation": _LAYERS}
NOT_READY: Final[Json] = {
    "ready": False,
    "reasons": ["the model `smollm2` is loading"],
    "isolation": _LAYERS,
}

DELIVERIES: Final[Json] = {
    "callback_url": "https://hooks.example.org/jobs",
    "deliveries": [
        {
            "id": "5d1f7e0a9c3b4e62a8d4c1b7f6e5d2a0",
            "url": "https://hooks.example.org/jobs",
            "state": "delivered",
            "created_at": "2026-01-31T09:30:04.250000Z",
            "next_attempt_at": None,
            "attempts": [
                {
                    "number": 1,
                    "at": "2026-01-31T09:30:04.300000Z",
                    "status": 204,
                    "reason": "",
                    "took_ms": 41,
                }
            ],
        }
    ],
}

METRICS: Final = 'cuttlebone_jobs{status="queued"} 0.0\n'
