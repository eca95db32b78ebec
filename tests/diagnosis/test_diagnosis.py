"""What a host needs: everything that can be wrong, with what to do."""

import resource
from pathlib import Path

import pytest

from cli.blocks import write_specs
from cuttlebone.access import TokenFile, TokenScope
from cuttlebone.callbacks.message import own_secrets
from cuttlebone.diagnosis import Condition, Diagnosis, diagnose
from cuttlebone.diagnosis.work import roles_without_template
from cuttlebone.sandbox.cache import ArtefactCache
from cuttlebone.settings import Isolation, Settings
from cuttlebone.store.sqlite import open_sqlite_stores


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_specs(tmp_path_factory.mktemp("specs"))


THREAD = Isolation.THREAD
"""The layers around a process depend on the machine; these tests are about everything else."""


def settings_in(folder: Path, specs: Path, **stated: object) -> Settings:
    usual: dict[str, object] = {
        "specs": specs,
        "cache": folder / "cache",
        "state": folder / "state",
        "isolation": THREAD,
    }
    return Settings.model_validate({**usual, **stated})


def to_mend(settings: Settings) -> list[Diagnosis]:
    found = [one for one in diagnose(settings) if one.condition is Condition.MEND]
    assert all(one.advice for one in found)
    return found


def test_a_limit_of_open_files_that_is_too_low_is_said(specs: Path, tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    settings = settings_in(tmp_path, specs, connections_max=most)
    (found,) = [one for one in to_mend(settings) if one.area == "connections"]
    assert found.what.startswith(f"only {most // 2} at once can be served, not {most}")
    assert "LimitNOFILE=" in found.advice


def test_a_layer_that_is_off_matters_where_all_are_required(specs: Path, tmp_path: Path) -> None:
    conditions = {
        (one.what.partition(" ")[0], one.condition)
        for one in diagnose(settings_in(tmp_path, specs, isolation=Isolation.REQUIRE))
        if one.area == "isolation"
    }
    assert ("process", Condition.FINE) in conditions
    assert not [layer for layer, condition in conditions if condition is Condition.NOTE]


def test_a_spec_with_a_fault_is_shown(tmp_path: Path) -> None:
    (tmp_path / "faulty.yaml").write_text("name: a\n")
    (found,) = to_mend(settings_in(tmp_path, tmp_path))
    assert found.area == "specs"
    assert "faulty.yaml" in found.what


def test_a_spec_whose_model_is_not_served_is_shown(specs: Path, tmp_path: Path) -> None:
    (tmp_path / "asks.yaml").write_text((specs / "complete.yaml").read_text() + "model: large\n")
    (tmp_path / "complete.wasm").write_bytes((specs / "complete.wasm").read_bytes())
    (found,) = to_mend(settings_in(tmp_path, tmp_path))
    assert found.advice == "give --model large=FILE.gguf"


def test_a_model_that_is_none_is_shown(specs: Path, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"no model")
    models = {"small": tmp_path / "model.gguf", "gone": tmp_path / "none.gguf"}
    found = to_mend(settings_in(tmp_path, specs, models=models))
    assert [one.what.partition(":")[0] for one in found] == ["small", "gone"]


def test_a_variable_that_is_no_setting_is_shown(specs: Path, tmp_path: Path) -> None:
    names = ("CUTTLEBONE_MODLES", "CUTTLEBONE_URL", "cuttlebone_port", "PATH", "CUTTLEBONE_XYZZY")
    found = [
        one.what
        for one in diagnose(settings_in(tmp_path, specs), variables=names)
        if one.area == "environment"
    ]
    assert found == [
        "CUTTLEBONE_MODLES is no setting; did you mean CUTTLEBONE_MODELS?",
        "CUTTLEBONE_XYZZY is no setting",
    ]


def test_how_many_generations_a_model_has_memory_for_is_shown_and_whether_texts_are_exact(
    demo_model: Path, specs: Path, tmp_path: Path
) -> None:
    shown = []
    for mebibytes in (91 * 4, 91):
        settings = settings_in(
            tmp_path, specs, models={"main": demo_model}, kv_memory_bytes=mebibytes << 20
        )
        (found,) = (one for one in diagnose(settings) if one.what.startswith("main: "))
        shown.append((found.condition, found.what.partition("for ")[2]))
    assert shown == [
        (Condition.FINE, "4 generations at once (kv_layout streams)"),
        (Condition.NOTE, "16 generations at once (kv_layout pool); exact: false"),
    ]


def test_a_model_without_a_chat_template_is_shown(
    demo_model: Path, specs: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.gguf"
    bare.write_bytes(demo_model.read_bytes().replace(b"tokenizer.chat_template", b"t" * 23, 1))
    models = {"bare": bare, "main": demo_model, "none": tmp_path / "none.gguf"}
    settings = settings_in(tmp_path, specs, models=models)
    (found,) = [one for one in diagnose(settings) if "no chat template" in one.what]
    assert (found.condition, found.what) == (
        Condition.NOTE,
        "bare: bare.gguf has no chat template",
    )
    assert "`raw`" in found.advice
    assert roles_without_template(settings) == ["bare"]


@pytest.mark.parametrize("name", ["cache", "state"])
def test_a_folder_that_others_may_enter_is_shown(name: str, specs: Path, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name).chmod(0o755)
    (found,) = to_mend(settings_in(tmp_path, specs))
    assert found.advice == f"chmod 700 {tmp_path / name}"


def test_a_folder_that_cannot_be_made_is_shown(specs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = to_mend(settings_in(tmp_path, specs, state=tmp_path / "file" / "state"))
    assert (found[0].area, found[0].what) == ("state folder", f"{tmp_path}/file cannot be written")


def test_a_compiled_module_that_is_damaged_is_shown(specs: Path, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, specs)
    ArtefactCache(tmp_path / "cache" / "modules").put("a", b"code")
    (tmp_path / "cache" / "modules" / "b.cwasm").mkdir()
    (found,) = [one for one in diagnose(settings) if "b.cwasm" in one.what]

    assert (found.area, found.condition) == ("cache folder", Condition.NOTE)
    assert "compiles them again" in found.advice


def test_a_store_is_counted_and_one_that_is_none_is_shown(specs: Path, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, specs)
    open_sqlite_stores(tmp_path / "state").close()
    assert "0 jobs, schema version" in "".join(one.what for one in diagnose(settings))
    (tmp_path / "state" / "jobs.sqlite").write_bytes(b"no database" * 1000)
    (found,) = to_mend(settings)
    assert found.area == "job store"
    assert found.advice.startswith(f"`cuttlebone salvage {tmp_path / 'state'} --into FOLDER`")


def test_tokens_are_counted_and_a_file_that_others_may_read_is_shown(
    specs: Path, tmp_path: Path
) -> None:
    settings = settings_in(tmp_path, specs)
    tokens = TokenFile(tmp_path / "state")
    tokens.add("agent", tenant="local", scopes=frozenset({TokenScope.READ}))
    assert "1 tokens" in "".join(one.what for one in diagnose(settings))
    tokens.path.chmod(0o644)
    (found,) = to_mend(settings)
    assert "chmod 600" in found.what


def test_an_address_that_others_can_reach_needs_a_token(specs: Path, tmp_path: Path) -> None:
    (found,) = to_mend(settings_in(tmp_path, specs, host="0.0.0.0"))
    assert "token add" in found.advice


def test_callbacks_need_hosts_that_are_some_and_a_secret(specs: Path, tmp_path: Path) -> None:
    listed = {"callback_hosts": ("hooks.example.org",)}
    assert to_mend(settings_in(tmp_path, specs, **listed)) == []
    (wrong,) = to_mend(settings_in(tmp_path, specs, callback_hosts=("https://a.org",)))
    assert "is no host" in wrong.what
    (missing,) = to_mend(settings_in(tmp_path, specs, state=None, **listed))
    assert "no secret" in missing.what
    secret = tmp_path / "secret"
    own_secrets(secret)
    secret.chmod(0o644)
    (open_to_others,) = to_mend(settings_in(tmp_path, specs, callback_secret_file=secret, **listed))
    assert "chmod 600" in open_to_others.what
