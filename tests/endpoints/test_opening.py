"""Which endpoints a host has: one for each model file, however many roles name it."""

from pathlib import Path

import pytest

from cuttlebone.endpoints.opening import directory_of
from cuttlebone.generation.outcome import Finished
from cuttlebone.generation.state import Phase
from cuttlebone.inference.loading import memory_needed
from cuttlebone.settings import Settings
from inference.conftest import ask, collect


def test_roles_that_name_the_same_file_in_whatever_way_share_one_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.gguf").touch()
    (tmp_path / "link.gguf").symlink_to("small.gguf")
    (tmp_path / "copy.gguf").touch()
    monkeypatch.chdir(tmp_path)
    stated = {
        "main": tmp_path / "small.gguf",
        "judge": Path("small.gguf"),
        "writer": Path("link.gguf"),
        "other": Path("copy.gguf"),
    }
    directory = directory_of(Settings(models=stated))
    assert [endpoint.name for endpoint in directory.endpoints] == ["judge/main/writer", "other"]
    assert {role: directory.file(role) for role in directory.roles} == {
        "main": "small.gguf",
        "judge": "small.gguf",
        "writer": "link.gguf",
        "other": "copy.gguf",
    }


@pytest.mark.model
def test_a_model_of_two_roles_is_loaded_once_and_takes_its_memory_once(
    demo_model: Path, tmp_path: Path
) -> None:
    settings = Settings(
        models={"main": demo_model, "judge": demo_model},
        cache=tmp_path,
        context_tokens_max=64,
        kv_memory_bytes=64 << 20,
    )
    once = memory_needed(demo_model, settings, 64 << 20)
    directory = directory_of(settings.model_copy(update={"models_memory_bytes": once}))
    directory.start()
    try:
        for role in ("main", "judge"):
            endpoint = directory.endpoint(role)
            assert isinstance(collect(endpoint.submit(ask(max_tokens=1)))[1], Finished)
            assert endpoint.state.phase is Phase.READY
    finally:
        directory.stop()
    assert [endpoint.figures.finished for endpoint in directory.endpoints] == [2]
