"""How every benchmark reports: a table for people, or rows as JSON with `--json`."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, and where it has a goal, whether the goal was met.

    `ratio` compares with a figure measured in the same run, which `against` names.
    """

    name: str
    value: float
    unit: str
    against: str = ""
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None


def at_most(name: str, value: float, unit: str, bound: float) -> Row:
    """A figure that should not exceed `bound`."""
    return Row(name, value, unit, goal=f"≤ {bound:g}", met=value <= bound)


def at_most_times(name: str, value: float, unit: str, base: Row, bound: float) -> Row:
    """A figure that should be at most `bound` times a row of the same run."""
    ratio = value / base.value
    return Row(name, value, unit, base.name, ratio, f"≤ {bound:g} times", ratio <= bound)


def times_faster(name: str, value: float, slower: Row, bound: float) -> Row:
    """How many times faster `value` is than a row of the same run; should be at least `bound`."""
    ratio = slower.value / value
    return Row(
        name,
        ratio,
        "times",
        against=slower.name,
        ratio=ratio,
        goal=f"≥ {bound:g}",
        met=ratio >= bound,
    )


def run_benchmark(title: str, measure: Callable[[bool], Sequence[Row]]) -> None:
    """Parse the options that all benchmarks share, measure, and print."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--quick", action="store_true", help="fewer rounds; ends within 50 s")
    options = parser.parse_args()
    rows = measure(options.quick)
    if options.json:
        json.dump({"rows": [asdict(row) for row in rows]}, sys.stdout)
        sys.stdout.write("\n")
        return
    Console().print(_table(title, rows))


def _table(title: str, rows: Sequence[Row]) -> Table:
    table = Table("figure", "value", "unit", "against", "goal", "met", title=title)
    words = {None: "", True: "yes", False: "no"}
    for row in rows:
        table.add_row(row.name, f"{row.value:.2f}", row.unit, row.against, row.goal, words[row.met])
    return table
