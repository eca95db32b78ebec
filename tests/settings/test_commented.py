"""The settings file that is all comments."""

import re
from pathlib import Path

from cuttlebone.settings import Settings
from cuttlebone.settings.commented import commented_settings
from cuttlebone.settings.sources import settings_file, settled

TEXT = commented_settings()


def test_as_it_is_it_states_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cuttlebone.yaml"
    path.write_text(TEXT)
    assert settings_file(path).values == {}


def test_without_its_signs_it_states_every_default(tmp_path: Path) -> None:
    path = tmp_path / "cuttlebone.yaml"
    path.write_text(re.sub(r"^#(?=\w|  \w)", "", TEXT, flags=re.MULTILINE))
    stated = settings_file(path)
    assert set(stated.values) == set(Settings.model_fields)
    assert settled([stated]) == Settings(specs=tmp_path / "specs")


def test_every_setting_has_its_meaning_above_it() -> None:
    for name in Settings.model_fields:
        assert re.search(rf"^# .+\n#{name}:", TEXT, re.MULTILINE), name


def test_no_line_is_too_long_to_read() -> None:
    assert max(map(len, TEXT.splitlines())) <= 100
