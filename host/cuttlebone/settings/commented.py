"""A settings file in which every setting stands as a comment, with what it means and its default."""

import json
import textwrap
from typing import Final

from pydantic import TypeAdapter

from cuttlebone.settings import Settings
from cuttlebone_abi import Json

_HEAD: Final = """\
# Settings of a Cuttlebone host. Each is shown with its default: take the `#` away to change it.
# Flags go before the environment (CUTTLEBONE_ and the name in capitals), which goes before this
# file. Relative paths start from the folder of this file. `cuttlebone config show` says what holds.
"""
_WIDTH: Final = 98


def commented_settings() -> str:
    """Write the file. Without its `#` before names it states all defaults."""
    defaults = TypeAdapter(Settings).dump_python(Settings.model_construct(), mode="json")
    parts = [_setting(name, value) for name, value in defaults.items()]
    return "\n".join([_HEAD, *parts])


def _setting(name: str, default: Json) -> str:
    meaning = " ".join((Settings.model_fields[name].description or "").split())
    lines = textwrap.wrap(meaning, _WIDTH, initial_indent="# ", subsequent_indent="# ")
    # JSON is YAML, and says of each value what it is.
    if isinstance(default, dict) and default:
        lines += [f"#{name}:", *(f"#  {key}: {json.dumps(one)}" for key, one in default.items())]
    else:
        lines.append(f"#{name}: {json.dumps(default)}")
    return "\n".join(lines) + "\n"
