"""Settings from several places: which one wins, and where a fault is said to be."""

import os
from pathlib import Path

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.job_options import LIMITS_MAX
from cuttlebone.settings import Isolation, Settings
from cuttlebone.settings.sources import (
    FILE_BYTES_MAX,
    Source,
    environment,
    file_here,
    place_of,
    settings_file,
    settled,
)


def source(place: str, **values: object) -> Source:
    return Source(values, lambda _location: place)


def file_with(folder: Path, text: str) -> Source:
    path = folder / "cuttlebone.yaml"
    path.write_text(text)
    return settings_file(path)


def refusal(*sources: Source) -> str:
    with pytest.raises(OperatorError) as refused:
        settled(sources)
    return str(refused.value)


FLAG, VARIABLE, FILE = source("flag", port=1), source("variable", port=2), source("file", port=3)


@pytest.mark.parametrize(
    ("sources", "port", "place"),
    [
        ((), 8420, "default"),
        ((FILE,), 3, "file"),
        ((VARIABLE, FILE), 2, "variable"),
        ((FLAG, FILE), 1, "flag"),
        ((FLAG, VARIABLE), 1, "flag"),
        ((FLAG, VARIABLE, FILE), 1, "flag"),
    ],
)
def test_the_first_source_that_states_a_value_wins(
    sources: tuple[Source, ...], port: int, place: str
) -> None:
    assert settled(sources).port == port
    assert place_of(("port",), sources) == place


def test_mappings_have_entries_from_every_source() -> None:
    above = source("above", models={"a": "x.gguf"}, limits_max={"time_ms": 300})
    below = source("below", models={"a": "y.gguf", "b": "z.gguf"}, limits_max={"steps": 9})
    found = settled([above, below])
    assert found.models == {"a": Path("x.gguf"), "b": Path("z.gguf")}
    assert found.limits_max == LIMITS_MAX.model_copy(update={"time_ms": 300, "steps": 9})
    assert place_of(("models", "a"), [above, below]) == "above"
    assert place_of(("models", "b"), [above, below]) == "below"
    assert place_of(("limits_max", "handles"), [above, below]) == "default"


def test_an_unknown_key_of_a_file_is_named_with_its_line_and_what_was_meant(tmp_path: Path) -> None:
    stated = file_with(tmp_path, "# mine\nhost: 127.0.0.1\nprot: 1\nlimits_max:\n  time_mss: 2\n")
    assert set(refusal(stated).splitlines()[1:]) == {
        f"  {tmp_path}/cuttlebone.yaml:3: unknown key `prot`; did you mean `port`?",
        f"  {tmp_path}/cuttlebone.yaml:5: unknown key `limits_max.time_mss`; did you mean `time_ms`?",
    }


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("\nport: many\n", 2, "`port`: should be a valid integer"),
        ("port: 65536\n", 1, "`port`: should be less than or equal to 65535, but is 65536"),
        ("grace_s: 0\n", 1, "`grace_s`: should be greater than 0"),
        ("isolation: none\n", 1, "`isolation`: should be 'process', 'thread' or 'require'"),
        ("names:\n- a\n- [b]\n", 3, "`names[1]`: should be a valid string"),
        ("limits_max:\n  steps: 1\n  time_ms: '1'\n", 3, "`limits_max.time_ms`: should be a valid"),
        ("models: [a]\n", 1, "`models`: should be an object"),
        ("models:\n  a/b: x.gguf\n", 2, "should have 1 to 64 letters"),
    ],
)
def test_a_value_of_a_file_that_makes_no_sense_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    said = refusal(file_with(tmp_path, text))
    assert f"cuttlebone.yaml:{line}: " in said
    assert reason in said


@pytest.mark.parametrize("role", ["", "a/b", "a b", "x" * 65])
def test_a_role_is_a_plain_name(role: str) -> None:
    assert ": the key: should have 1 to 64 letters" in refusal(
        source("flag", models={role: "model.gguf"})
    )


def test_a_fault_is_said_to_be_where_the_value_comes_from() -> None:
    assert "--port: `port`" in refusal(source("--port", port=-1), FILE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- port\n", ":1: settings are a mapping"),
        ("port: 1\nport: 2\n", "line 2"),
        ("port: [\n", "line 2"),
        ("#" * (FILE_BYTES_MAX + 1), f"more than {FILE_BYTES_MAX} bytes"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(OperatorError, match=reason):
        file_with(tmp_path, text)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"none\.yaml: cannot be read: No such file"):
        settings_file(tmp_path / "none.yaml")


@pytest.mark.parametrize("text", ["", "\n# port: 1\n  # more\n"])
def test_a_file_with_nothing_but_comments_states_nothing(tmp_path: Path, text: str) -> None:
    assert settled([file_with(tmp_path, text)]) == Settings()


def test_paths_of_a_file_start_from_its_folder(tmp_path: Path) -> None:
    stated = file_with(
        tmp_path,
        "specs: mine\ncache: /var/cache\nmodels: {a: a.gguf}\nhost: 127.0.0.2\nstate: null\n",
    )
    found = settled([stated])
    assert (found.specs, found.cache) == (tmp_path / "mine", Path("/var/cache"))
    assert found.models == {"a": tmp_path / "a.gguf"}
    assert (found.host, found.state) == ("127.0.0.2", None)


def test_a_variable_is_named_as_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTTLEBONE_ISOLATION", "thread")
    stated = environment()
    assert settled([stated]).isolation is Isolation.THREAD
    assert place_of(("isolation",), [stated]) == "CUTTLEBONE_ISOLATION"
    monkeypatch.setenv("CUTTLEBONE_MODELS", "a=b")
    with pytest.raises(OperatorError, match=r"models.*must be JSON"):
        environment()


def test_a_file_that_nobody_named_must_be_the_users_own(tmp_path: Path) -> None:
    assert file_here(tmp_path) is None
    path = tmp_path / "cuttlebone.yaml"
    path.touch(mode=0o644)
    assert file_here(tmp_path) == path
    path.chmod(0o664)
    with pytest.raises(OperatorError, match="chmod go-w"):
        file_here(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_read_unless_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cuttlebone.yaml"
    path.touch(mode=0o644)
    os.chown(path, 12345, 12345)
    with pytest.raises(OperatorError, match="another user"):
        file_here(tmp_path)
