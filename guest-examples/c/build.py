"""Builds the C examples: `python guest-examples/c/build.py [NAME…]` writes NAME/NAME.wasm beside each source.

The same sources and the same version of ziglang give the same bytes on every machine.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
SDK: Final = HERE.parents[1] / "abi" / "sdk" / "c"

# -Oz: every job instantiates the module anew. The stack of 64 KiB replaces ziglang's 1 MiB, which
# would be most of the memory of a small guest.
FLAGS: Final = (
    "-target", "wasm32-freestanding", "-std=c11", "-Oz", "-Wall", "-Wextra", "-Werror",
    "-Wl,--no-entry", "-Wl,-z,stack-size=65536",
)  # fmt: skip


def build(source: Path, output: Path) -> None:
    """Compile one block; raise CalledProcessError after the compiler said what is wrong."""
    # Relative to the source's folder: no path of this machine can get into the module.
    command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, f"-I{SDK}", source.name]
    subprocess.run([*command, "-o", str(output)], cwd=source.parent, check=True)  # noqa: S603  # our own compiler and sources


def examples() -> list[Path]:
    """The source of every example here, by name."""
    return sorted(path for path in HERE.glob("*/*.c") if path.stem == path.parent.name)


def main(names: list[str]) -> None:
    """Build the examples of these names, or all."""
    for source in examples():
        if not names or source.stem in names:
            output = source.with_suffix(".wasm")
            build(source, output)
            print(f"{output.relative_to(HERE)}: {output.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
