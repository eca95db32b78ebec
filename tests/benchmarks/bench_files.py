"""What it costs to open a granted file and to read it by windows, against plain Python files.

Run: python tests/benchmarks/bench_files.py [--quick] [--json]
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuttlebone.files import Grants, HandleTable
from cuttlebone.files.opening import open_by_walking
from report import Row, run_benchmark

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Scale:
    opens: int
    file_mebibytes: int
    turns: int


def seconds(act: Callable[[], None]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def medians(acts: list[Callable[[], None]], turns: int) -> list[float]:
    """Median seconds of each act; the acts take turns so that a noisy moment meets them all."""
    for act in acts:
        act()
    measured = [[seconds(act) for act in acts] for _ in range(turns)]
    return [statistics.median(column) for column in zip(*measured, strict=True)]


def opening_rows(folder: Path, scale: Scale) -> list[Row]:
    path = folder / "docs" / "a" / "b" / "c.txt"
    path.parent.mkdir(parents=True)
    path.write_text("a few words of text\n" * 200)
    with (
        Grants.resolve(folder, ["./docs"]) as grants,
        Grants.resolve(folder, ["./docs"], opener=open_by_walking) as walked,
    ):

        def by_table(table: HandleTable) -> Callable[[], None]:
            def act() -> None:
                for _ in range(scale.opens):
                    table.close(table.open("docs/a/b/c.txt").handle)

            return act

        def plain() -> None:
            name = str(path)
            for _ in range(scale.opens):
                fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
                os.fstat(fd)
                os.pread(fd, 4096, 0)
                os.close(fd)

        tables = [
            HandleTable(held, handles_max=1, window_bytes_max=MEBIBYTE) for held in (grants, walked)
        ]
        acts = [plain, *map(by_table, tables)]
        plain_s, kernel_s, walk_s = medians(acts, scale.turns)
    plain_us, kernel_us, walk_us = (one * 1e6 / scale.opens for one in (plain_s, kernel_s, walk_s))
    return [
        Row("open_plain_us", plain_us, "µs"),
        times_plain("open_us", kernel_us, plain_us),
        times_plain("open_walking_us", walk_us, plain_us),
    ]


def times_plain(name: str, value_us: float, plain_us: float) -> Row:
    """A goal against the plain way and none in microseconds, which a busy machine moves."""
    ratio = value_us / plain_us
    return Row(
        name,
        value_us,
        "µs",
        against="open_plain_us",
        ratio=ratio,
        goal="≤ 20 times plain",
        met=ratio <= 20,
    )


def reading_rows(folder: Path, scale: Scale) -> Iterator[Row]:
    lines = {
        "ascii": "The quick brown fox jumps over the lazy dog.\n",
        "mixed": "Größe: 12 €, Straße; 東京 10 °C, naïve café 🙂\n",
    }
    for name, line in lines.items():
        path = folder / "docs" / f"{name}.txt"
        path.write_text(line * (scale.file_mebibytes * MEBIBYTE // len(line.encode())))
        with Grants.resolve(folder, ["./docs"]) as grants:
            for kibibytes in (4, 64, 1024):
                yield from reading_pair(grants, path, kibibytes, scale)


def reading_pair(grants: Grants, path: Path, kibibytes: int, scale: Scale) -> Iterator[Row]:
    """Megabytes a second of a text file read whole, in pieces of `kibibytes`."""
    table = HandleTable(grants, handles_max=1, window_bytes_max=MEBIBYTE)
    width = kibibytes << 10
    size = path.stat().st_size

    def by_windows() -> None:
        file, offset = table.open(f"docs/{path.name}"), 0
        while offset < file.len:
            offset = table.slice(file.handle, offset, width, replace_invalid=False).next_offset
        table.close(file.handle)

    def plain() -> None:
        with path.open(encoding="utf-8", newline="") as file:
            while file.read(width):
                pass

    plain_s, windows_s = medians([plain, by_windows], scale.turns)
    windows, plainly = (size / 1e6 / one for one in (windows_s, plain_s))
    name = f"{path.stem}_{kibibytes}k_mb_s"
    yield Row(f"plain_{name}", plainly, "MB/s")
    # Small windows are dominated by what one call costs, and have no goal of their own.
    judged = kibibytes >= 64
    yield Row(
        f"windows_{name}",
        windows,
        "MB/s",
        against=f"plain_{name}",
        ratio=windows / plainly,
        goal="≥ 0.5 of plain" if judged else "",
        met=windows >= plainly / 2 if judged else None,
    )


def measure(quick: bool) -> Sequence[Row]:  # noqa: FBT001  # the signature that run_benchmark takes
    scale = Scale(2_000, 8, 5) if quick else Scale(20_000, 64, 7)
    with tempfile.TemporaryDirectory() as made:
        return [*opening_rows(Path(made), scale), *reading_rows(Path(made), scale)]


if __name__ == "__main__":
    run_benchmark("Files: opening and reading by windows", measure)
