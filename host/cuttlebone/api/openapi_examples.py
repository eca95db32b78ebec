"""The examples of the OpenAPI document: JSON files beside this module, each with examples by name."""

from collections.abc import Mapping
from importlib.resources import files

from cuttlebone_abi import Json, load_json


def read_examples(file: str, *names: str) -> Mapping[str, Json]:
    """Read the examples of a file, or only those with the names; KeyError for one that it lacks."""
    path = files("cuttlebone.api") / "examples" / f"{file}.json"
    found: dict[str, Json] = load_json(path.read_bytes())
    return {name: found[name] for name in names} if names else found
