"""Builds C blocks: `python guest-examples/c/build.py [--into FOLDER] [SOURCE.c …]`.

Without sources it builds every example here; without a folder each module lies beside its source.
The same sources and the same version of ziglang give the same bytes on every machine.
"""

import argparse
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
    # Named relative to its own folder: no path of this machine can get into the module.
    command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, f"-I{SDK}", source.name]
    subprocess.run([*command, "-o", str(output)], cwd=source.parent, check=True)  # noqa: S603  # our own compiler and sources


def examples() -> list[Path]:
    """The source of every example, by name: NAME/NAME.c."""
    return sorted(path for path in HERE.glob("*/*.c") if path.stem == path.parent.name)


def main() -> None:
    """Build what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", nargs="*", type=Path, help="default: every example")
    parser.add_argument(
        "--into", type=Path, help="folder of the modules; default: beside each source"
    )
    arguments = parser.parse_args()
    for source in arguments.sources or examples():
        folder = arguments.into or source.parent
        output = (folder / source.name).with_suffix(".wasm").resolve()
        build(source, output)
        print(f"{output}: {output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
