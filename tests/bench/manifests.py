"""A run manifest that the tests start from, and short ways to check one."""

from typing import Any

from cuttlebone.bench.manifest import check_manifest

ENGINE: dict[str, Any] = {
    "name": "llamacpp",
    "label": "default",
    "install": ["pip install x"],
    "launch": ["llama-server"],
    "port": 8090,
}
SMALLEST: dict[str, Any] = {
    "manifest_version": 1,
    "model": {"id": "org/name", "revision": "0" * 40},
    "hardware": {"gpu": "RTX 5090", "count": 1},
    "engines": [ENGINE],
    "workload": {"modes": ["single"], "buckets": ["short"], "max_tokens": 64},
    "harness": {"inferencekit_version": "0.1.0", "wheel_sha256": "a" * 64},
    "agent_run": {"run_id": "r1"},
}


def errors_of(pins: Any = None, **change: Any) -> list[str]:
    """List the pointers of the errors in a manifest that differs in some keys."""
    return [found.pointer for found in check_manifest({**SMALLEST, **change}, pins=pins).errors]


def body_errors(body: dict[str, Any]) -> list[str]:
    """List the pointers of the errors of an `extra_body`."""
    return errors_of(workload={**SMALLEST["workload"], "extra_body": body})
