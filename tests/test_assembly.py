"""Which models a host has: one for each file, however many roles name it."""

from pathlib import Path

import pytest

from cuttlebone.assembly import models_of
from cuttlebone.generation.outcome import Finished
from cuttlebone.inference.llama import memory_needed
from cuttlebone.inference.progress import Phase
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
    models = models_of(Settings(models=stated))
    assert [thread.name for thread in models.threads] == ["judge/main/writer", "other"]
    assert {role: one.file.name for role, one in models.models.items()} == {
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
        models={"main": demo_model, "judge": demo_model}, cache=tmp_path, context_tokens_max=64
    )
    once = memory_needed(demo_model, settings)
    models = models_of(settings.model_copy(update={"models_memory_bytes": once}))
    models.start()
    try:
        for role in ("main", "judge"):
            model = models.models[role].thread
            assert isinstance(collect(model.submit(ask(max_tokens=1)))[1], Finished)
            assert model.state.phase is Phase.READY
    finally:
        models.stop()
    assert [thread.figures.finished for thread in models.threads] == [2]
