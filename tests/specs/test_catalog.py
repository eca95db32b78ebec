"""The catalog: good specs are served, bad ones reported, changes seen."""

import os
from pathlib import Path

import pytest

from cuttlebone.errors import CallerError, OperatorError, ProblemCode
from cuttlebone.job_options import Limits
from cuttlebone.specs.block_registry import BLOCK_BYTES_MAX
from cuttlebone.specs.catalog import Catalog, spec_files_in
from cuttlebone.testing import ScriptedSandbox
from cuttlebone_abi import Signature, parse_type
from guest_scripts import echo
from hosts import write_spec


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    sandbox = ScriptedSandbox(
        {"echo": echo, "other": echo},
        signature=Signature(input=parse_type("{path: text}")),
    )
    return Catalog(
        lambda: spec_files_in(tmp_path), admit=sandbox.admit, limits_max=Limits(steps=50)
    )


def only_fault(catalog: Catalog) -> str:
    catalog.refresh()
    (fault,) = catalog.faults().values()
    return fault


def test_specs_are_served_by_name_in_order(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "other")
    write_spec(tmp_path, "echo")
    catalog.refresh()

    assert list(catalog.specs()) == ["echo", "other"]
    assert str(catalog.get("echo").block.signature.input) == "{path: text}"


def test_the_limits_of_a_spec_are_bounded_by_the_server(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo", "limits: {steps: 1000, handles: 5}")
    catalog.refresh()

    limits = catalog.get("echo").limits
    assert (limits.steps, limits.handles, limits.events) == (50, 5, 10_000)


def test_a_bad_spec_is_reported_and_the_others_serve(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo")
    write_spec(tmp_path, "other", "speling: 1")
    fault = only_fault(catalog)

    assert "other.yaml:4: unknown key `speling`" in fault
    assert list(catalog.specs()) == ["echo"]
    with pytest.raises(CallerError) as caught:
        catalog.get("other")
    assert caught.value.code is ProblemCode.SPEC_UNUSABLE


def test_an_unknown_spec_is_said_to_be_unknown(catalog: Catalog) -> None:
    with pytest.raises(CallerError, match="no spec is named 'none'") as caught:
        catalog.get("none")
    assert caught.value.code is ProblemCode.UNKNOWN_SPEC


def test_a_missing_block_is_named(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo")
    (tmp_path / "echo.wasm").unlink()

    assert "echo.wasm cannot be read: No such file" in only_fault(catalog)


def test_a_block_that_is_too_large_is_not_read(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo")
    os.truncate(tmp_path / "echo.wasm", BLOCK_BYTES_MAX + 1)

    assert f"larger than {BLOCK_BYTES_MAX} bytes" in only_fault(catalog)


def test_a_block_that_is_refused_is_reported_with_the_reasons(
    catalog: Catalog, tmp_path: Path
) -> None:
    write_spec(tmp_path, "echo")
    (tmp_path / "echo.wasm").write_text("unheard of")

    assert "is no usable block:\n  - no script is named" in only_fault(catalog)


def test_a_bad_schema_is_reported_with_its_file(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo", "input: {type: objekt}")

    assert "echo.yaml: `input` is not a JSON Schema" in only_fault(catalog)


def test_a_grant_that_leads_nowhere_is_reported(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo", "capabilities: {read: [./nowhere]}")

    assert "nowhere" in only_fault(catalog)


def test_a_granted_folder_that_comes_into_being_makes_its_spec_usable(
    catalog: Catalog, tmp_path: Path
) -> None:
    write_spec(tmp_path, "echo", "capabilities: {read: [./later, ./*.txt]}")
    assert "later" in only_fault(catalog)

    (tmp_path / "later").mkdir()
    catalog.refresh()

    assert catalog.get("echo").spec.name == "echo"


def test_a_granted_folder_that_another_has_replaced_is_opened_anew(
    catalog: Catalog, tmp_path: Path
) -> None:
    (tmp_path / "texts").mkdir()
    write_spec(tmp_path, "echo", "capabilities: {read: [./texts]}")
    catalog.refresh()
    (tmp_path / "texts").rename(tmp_path / "old")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "new.txt").write_text("new")
    catalog.refresh()

    catalog.get("echo").grants.open("texts/new.txt").close()


def test_what_changes_in_a_granted_folder_loads_nothing_again(
    catalog: Catalog, tmp_path: Path
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "one.txt").write_text("1")
    write_spec(tmp_path, "echo", "capabilities: {read: [./texts, ./one.txt]}")
    catalog.refresh()
    loaded = catalog.get("echo")
    (tmp_path / "texts" / "new.txt").write_text("new")
    (tmp_path / "one.txt").write_text("one")
    catalog.refresh()

    assert catalog.get("echo") is loaded


def test_a_name_that_stands_twice_is_served_by_neither(catalog: Catalog, tmp_path: Path) -> None:
    first = write_spec(tmp_path, "echo")
    (tmp_path / "copy.yaml").write_text(first.read_text())
    catalog.refresh()

    assert len(catalog.faults()) == 2
    assert catalog.specs() == {}


def test_what_is_mended_is_served_again(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo", "speling: 1")
    catalog.refresh()
    write_spec(tmp_path, "echo", "model: smollm2")
    catalog.refresh()

    assert catalog.get("echo").spec.model == "smollm2"


def test_a_new_block_is_admitted(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo")
    catalog.refresh()
    before = catalog.get("echo").block.digest
    (tmp_path / "echo.wasm").write_text("other\n")
    catalog.refresh()

    assert catalog.get("echo").block.digest != before


def test_what_has_not_changed_is_not_loaded_again(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo")
    catalog.refresh()
    before = catalog.get("echo")
    catalog.refresh()

    assert catalog.get("echo") is before


def test_what_is_gone_is_forgotten(catalog: Catalog, tmp_path: Path) -> None:
    write_spec(tmp_path, "echo").unlink()
    catalog.refresh()

    assert catalog.specs() == {}


def test_a_missing_folder_is_an_error_of_the_operator(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="--specs DIR"):
        spec_files_in(tmp_path / "none")


def test_the_files_of_a_package_manager_are_no_specs(tmp_path: Path) -> None:
    for name in ("package.json", "package-lock.json", "asconfig.json", "spec.json"):
        (tmp_path / name).write_text("{}")

    assert [path.name for path in spec_files_in(tmp_path)] == ["spec.json"]
