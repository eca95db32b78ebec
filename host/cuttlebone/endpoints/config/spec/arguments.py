"""Which flags an endpoint's `extra_args` may hold: an allow-list, because a deny-list leaks.

A server takes abbreviations, aliases and dozens of flags that read files, write files or open
listeners; what is not known to be harmless is refused. Host, port, model, draft model, context
length and KV type are set by the adapter and so are on no list.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from cuttlebone.endpoints.config.spec.refusals import InvalidConfig
from cuttlebone.endpoints.config.spec.tokens import FLAG_VALUE_BYTES_MAX, is_flag_value
from cuttlebone.endpoints.config.spec.types import Flavour
from cuttlebone.text.json_values import shown

ENTRIES_MAX: Final = 32

_SPACE_OR_NUL: Final = re.compile(r"[ \t\n\f\r\0]")


def _taking(values: int, flags: str) -> dict[str, int]:
    return dict.fromkeys(flags.split(), values)


FLAGS: Final[Mapping[Flavour, Mapping[str, int]]] = MappingProxyType(
    {
        Flavour.LLAMACPP: MappingProxyType(
            _taking(
                1,
                "--threads -t --threads-batch --batch-size -b --ubatch-size -ub --parallel -np "
                "--n-gpu-layers -ngl --temp --top-p --top-k --repeat-penalty --seed",
            )
            | _taking(
                0,
                "--flash-attn -fa --cont-batching --mlock --no-mmap --jinja --metrics --no-webui",
            )
        ),
        Flavour.MLX_LM: MappingProxyType(
            _taking(1, "--max-tokens --temp --top-p --top-k --log-level")
        ),
        Flavour.OLLAMA: MappingProxyType({}),
    }
)
"""How many values each allowed flag takes, for each flavour."""


def check_arguments(flavour: Flavour, entries: Sequence[str]) -> None:
    """Raise InvalidConfig at the first entry that is no allowed flag or no value for its flag."""
    if len(entries) > ENTRIES_MAX:
        reason = f"{len(entries)} entries are too many; at most {ENTRIES_MAX} are allowed"
        raise InvalidConfig("serve.extra_args", reason)
    at = 0
    while at < len(entries):
        flag = entries[at]
        wanted = _values_of(flavour, flag, at)
        values = entries[at + 1 : at + 1 + wanted]
        for offset, value in enumerate(values, start=1):
            _check_value(flag, value, at + offset)
        if len(values) < wanted:
            reason = f"the flag {flag} needs {wanted} value after it, and the list ends here"
            raise InvalidConfig(_place(at), reason)
        at += 1 + wanted


def _values_of(flavour: Flavour, flag: str, at: int) -> int:
    if _SPACE_OR_NUL.search(flag):
        reason = (
            f"{shown(flag)} holds white space or a NUL; an entry is one token, "
            "and a value is an entry of its own"
        )
        raise InvalidConfig(_place(at), reason)
    if flag not in FLAGS[flavour]:
        allowed = ", ".join(FLAGS[flavour]) or "none at all"
        reason = (
            f"{shown(flag)} is not on the list of flags for {flavour}; the spelling must match "
            f"exactly and a value is an entry of its own. Allowed: {allowed}"
        )
        raise InvalidConfig(_place(at), reason)
    return FLAGS[flavour][flag]


def _check_value(flag: str, value: str, at: int) -> None:
    if not is_flag_value(value):
        reason = (
            f"{shown(value)} is no value for {flag}: a value has 1 to {FLAG_VALUE_BYTES_MAX} bytes "
            "of A-Z a-z 0-9 . _ : + - / and begins with - only if it is a number"
        )
        raise InvalidConfig(_place(at), reason)


def _place(at: int) -> str:
    return f"serve.extra_args[{at}]"
