"""The attacks: a WAT file, the bytes of a command, or a generator each; and what they must end in."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import wasmtime

from hostile.encoder import guest_that_says
from hostile.generators import GENERATED

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack with its ending: an error code, "refused" or "completed", and a part of the message."""

    group: str
    name: str
    code: str
    saying: str

    def wasm(self) -> bytes:
        """The module to submit."""
        match self.group:
            case "modules":
                text = (HERE / "modules" / f"{self.name}.wat").read_text()
                return bytes(wasmtime.wat2wasm(text))
            case "commands":
                return guest_that_says((HERE / "commands" / f"{self.name}.json").read_bytes())
            case _:
                return GENERATED[self.name]()


def attacks() -> Iterator[Attack]:
    """All attacks of the table."""
    table = tomllib.loads((HERE / "endings.toml").read_text())
    for group, rows in table.items():
        for name, (code, saying) in rows.items():
            yield Attack(group, name, code, saying)


def names_on_disk() -> set[tuple[str, str]]:
    """Group and name of everything that the table must have an entry for."""
    modules = {("modules", path.stem) for path in (HERE / "modules").iterdir()}
    commands = {("commands", path.stem) for path in (HERE / "commands").iterdir()}
    return modules | commands | {("generated", name) for name in GENERATED}
