"""What the values of an endpoint spec must be, checked in a fixed order so that refusals are stable."""

from typing import Final

from cuttlebone.endpoints.config.spec.address import bind_address, port
from cuttlebone.endpoints.config.spec.arguments import check_arguments
from cuttlebone.endpoints.config.spec.refusals import InvalidConfig
from cuttlebone.endpoints.config.spec.tokens import PLAIN_CHARACTERS, is_plain_token
from cuttlebone.endpoints.config.spec.types import API_OPENAI_V1, Flavour, InferenceSpec
from cuttlebone.text.json_values import shown

ROLE_BYTES_MAX: Final = 64
MODEL_BYTES_MAX: Final = 128
KV_QUANT_BYTES_MAX: Final = 16
MEMORY_BYTES_MAX: Final = 1 << 42
"""4 TiB, for weights and for the KV cache each."""


def validate(spec: InferenceSpec) -> None:
    """Raise InvalidConfig for the first value that is refused."""
    _check_token("role", spec.role, ROLE_BYTES_MAX)
    if spec.model is not None:
        _check_token("model", spec.model, MODEL_BYTES_MAX)
    if spec.serve.draft_model is not None:
        _check_token("serve.draft_model", spec.serve.draft_model, MODEL_BYTES_MAX)
    bind_address(spec)
    port(spec)
    _check_serving(spec)
    check_arguments(spec.runtime, spec.serve.extra_args)
    _check_memory("memory.weights_bytes", spec.memory.weights_bytes)
    _check_memory("memory.kv_budget_bytes", spec.memory.kv_budget_bytes)
    for at, role in enumerate(spec.excludes):
        _check_token(f"excludes[{at}]", role, ROLE_BYTES_MAX)
    if spec.api != API_OPENAI_V1:
        raise InvalidConfig("api", f"{shown(spec.api)} is not spoken; only {API_OPENAI_V1} is")


def _check_serving(spec: InferenceSpec) -> None:
    serve = spec.serve
    if serve.ctx == 0:
        raise InvalidConfig("serve.ctx", "0 is refused: a context has at least 1 token")
    if serve.kv_quant is not None:
        _check_token("serve.kv_quant", serve.kv_quant, KV_QUANT_BYTES_MAX)
        if ":" in serve.kv_quant or "+" in serve.kv_quant:
            reason = f"{shown(serve.kv_quant)} holds : or +; give a type such as q8_0"
            raise InvalidConfig("serve.kv_quant", reason)
    if serve.draft_model is not None and spec.runtime is not Flavour.LLAMACPP:
        reason = (
            f"{shown(serve.draft_model)} is refused: only {Flavour.LLAMACPP} takes a draft model, "
            f"and the runtime is {spec.runtime}; leave it out"
        )
        raise InvalidConfig("serve.draft_model", reason)


def _check_token(field: str, text: str, bytes_max: int) -> None:
    if not is_plain_token(text, bytes_max):
        reason = f"{shown(text)} is no plain token: it must have 1 to {bytes_max} bytes, {PLAIN_CHARACTERS}"
        raise InvalidConfig(field, reason)


def _check_memory(field: str, count: int) -> None:
    if count > MEMORY_BYTES_MAX:
        raise InvalidConfig(field, f"{count} is over {MEMORY_BYTES_MAX} bytes (4 TiB), the most")
