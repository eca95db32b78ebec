"""The rules of `extra_body`: nothing that changes the timed work, no secrets, no idle sampling."""

from collections.abc import Iterator, Mapping
from typing import Final

from cuttlebone.bench.findings import Finding, finding
from cuttlebone.bench.secrets import looks_secret
from cuttlebone.text.json_values import Json, Path, shown

WORK_KEYS: Final = frozenset(
    {"model", "messages", "prompt", "stream", "stream_options", "max_tokens"}
    | {"max_completion_tokens", "n", "best_of", "ignore_eos", "min_tokens", "stop"}
    | {"stop_token_ids", "logit_bias", "return_token_ids", "return_tokens_as_token_ids"}
    | {"logprobs", "top_logprobs", "echo", "suffix"}
)
"""What alters the work that is timed, or the way its answer has to be read."""
SETTINGS_KEY: Final = "chat_template_kwargs"
SAMPLING_KEYS: Final = ("top_k", "top_p", "min_p", "seed")

_BODY: Final[Path] = ("workload", "extra_body")


def extra_body_errors(body: Mapping[str, Json]) -> Iterator[Finding]:
    """Give the errors of an `extra_body` of the right shape."""
    for key in body:
        path = (*_BODY, key)
        if key in WORK_KEYS:
            yield finding(
                path, f"{shown(key)} alters the work that is timed, or its answer; drop it"
            )
        elif key == SETTINGS_KEY:
            yield finding(
                path, "has a field of its own, workload.chat_template_kwargs; move it there"
            )
    yield from _secrets(body, _BODY)


def extra_body_warnings(body: Mapping[str, Json]) -> Iterator[Finding]:
    """Give a warning for each sampling setting that has no effect while decoding is greedy."""
    temperature = body.get("temperature")
    if isinstance(temperature, int | float) and temperature > 0:
        return
    for key in SAMPLING_KEYS:
        if key in body:
            told = f"{shown(body[key])} has no effect: without a temperature above 0 decoding is greedy"
            yield finding((*_BODY, key), f"{told}; give a temperature, or drop it")


def _secrets(value: Json | Mapping[str, Json], path: Path) -> Iterator[Finding]:
    """Look at every depth: a header with a token is as much in the manifest as a key at the top."""
    match value:
        case dict():
            for key, item in value.items():
                if looks_secret(key):
                    told = f"{shown(key)} looks like a secret, which no manifest holds; drop it"
                    yield finding((*path, key), told)
                yield from _secrets(item, (*path, key))
        case list():
            for at, item in enumerate(value):
                yield from _secrets(item, (*path, at))
        case _:
            pass
