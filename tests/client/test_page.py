"""The page about the client: each of its examples runs as it stands."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.hosted import served
from cuttlebone.client import AsyncClient, Client, SubmitOptions
from cuttlebone.testing import Commands, ScriptedGuest
from cuttlebone_abi import Json, Signature, parse_type

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
URL = "http://127.0.0.1:8420"


def summarize(_guest: ScriptedGuest, _value: Json) -> Commands:
    yield {"cmd": "emit", "progress": {"window": 1}}
    yield {"cmd": "done", "result": {"summary": "It ground corn."}}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("specs")
    signature = Signature(parse_type("{path: text}"), parse_type("{summary: text}"))
    with served(folder, {"summarize": summarize}, signature=signature) as api:
        yield api.server.url


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs_as_it_stands(
    number: int, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUTTLEBONE_URL", url)
    exec(compile(EXAMPLES[number].replace(URL, url), "client.md", "exec"), {})
    written = capsys.readouterr().out
    assert written or "assert" in EXAMPLES[number]


def test_there_are_examples_of_every_kind() -> None:
    assert len(EXAMPLES) >= 8


def test_the_page_names_every_keyword_of_a_submission() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(
        SubmitOptions.__annotations__
    )


def test_both_kinds_of_client_have_the_same_methods() -> None:
    def methods(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert methods(Client) == methods(AsyncClient)
