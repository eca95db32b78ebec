"""Settings from flags and environment, and the page that lists them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Cli
from cli.terminals import run_process
from cuttlebone.job_options import MODEL_TIME_MS, Limits
from cuttlebone.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "settings.md").read_text()


def _rows(page: str, columns: int) -> Iterator[list[str]]:
    """Yield the cells of each row that begins with a name in backticks."""
    for line in page.splitlines():
        cells = re.split(r"\s*\|\s*", line.strip("| "))
        if re.match(r"`\w+`", cells[0]) and len(cells) == columns:
            yield cells


def _bound(value: int | None) -> str:
    return "none" if value is None else f"{value:,}".replace(",", " ")


def test_the_page_lists_every_setting_with_its_variable_and_default() -> None:
    rows = {cells[0].strip("`"): cells for cells in _rows(PAGE, 5)}
    assert set(rows) == set(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        assert rows[name][1] == f"`CUTTLEBONE_{name.upper()}`"
        if field.default not in (None, ()) and name not in {"models", "limits_max"}:
            assert rows[name][3] == f"`{field.default}`"


def test_the_page_lists_every_flag(cli: Cli) -> None:
    flags = set(re.findall(r"--[a-z-]+", cli("serve", "--help").out)) - {
        "--json",
        "--help",
        "--config",
    }
    listed = " ".join(cells[2] for cells in _rows(PAGE, 5))
    assert set(re.findall(r"--[a-z-]+", listed)) == flags


def test_the_page_lists_every_limit_with_default_and_maximum() -> None:
    default, maximum = Limits(), Settings().limits_max
    rows = {cells[0].strip("`"): (cells[2], cells[3]) for cells in _rows(PAGE, 4)}
    stated = {
        name: (_bound(getattr(default, name)), _bound(getattr(maximum, name)))
        for name in Limits.model_fields
    }
    with_a_model = f"{stated['time_ms'][0]}; {_bound(MODEL_TIME_MS)} with a `model`"
    assert rows == {**stated, "time_ms": (with_a_model, stated["time_ms"][1])}


def test_every_setting_can_stand_in_the_environment(specs: Path) -> None:
    stated = {
        "CUTTLEBONE_SPECS": str(specs),
        "CUTTLEBONE_JOBS_RUNNING_MAX": "2",
        "CUTTLEBONE_GRACE_S": "0.5",
        "CUTTLEBONE_ISOLATION": "thread",
        "CUTTLEBONE_LIMITS_MAX": '{"time_ms": 300}',
        "CUTTLEBONE_MODELS": "{}",
        "CUTTLEBONE_CALLBACK_HOSTS": '["hooks.example.org"]',
        "CUTTLEBONE_CALLBACK_DELAYS_S": "[1, 2.5]",
    }
    ended = run_process("run", str(specs / "spin.yaml"), "-i", '{"word": ""}', environment=stated)
    assert ended.result["error"]["code"] == "timeout"
    assert "300" in ended.result["error"]["message"]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("JOBS_WAITING_MAX", "0", "CUTTLEBONE_JOBS_WAITING_MAX: `jobs_waiting_max`: "),
        ("JOBS_WAITING_MAX", "many", "CUTTLEBONE_JOBS_WAITING_MAX: `jobs_waiting_max`: "),
        ("GRACE_S", "-1", "CUTTLEBONE_GRACE_S: `grace_s`: "),
        ("ISOLATION", "none", "CUTTLEBONE_ISOLATION: `isolation`: "),
        (
            "LIMITS_MAX",
            '{"time": 1}',
            "CUTTLEBONE_LIMITS_MAX: unknown key `limits_max.time`; did you mean `time_ms`?",
        ),
        ("LIMITS_MAX", "{", "limits_max"),
        ("MODELS", "smollm2=a.gguf", "models"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(
    specs: Path, name: str, value: str, complaint: str
) -> None:
    variable = {f"CUTTLEBONE_{name}": value}
    ended = run_process("run", str(specs / "complete.yaml"), "-i", "{}", environment=variable)
    assert (ended.status, ended.out) == (2, "")
    assert complaint in ended.err
    assert "Traceback" not in ended.err
