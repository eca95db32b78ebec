"""The roster import beyond the vectors: text as written, ports, nothing dropped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuttlebone.endpoints.config.roster import (
    Overlay,
    RosterFault,
    RosterImport,
    RosterRefused,
    SkipReason,
    import_roster,
    read_overlay,
)
from cuttlebone.endpoints.config.spec import validate

ENTRY = "{id: a, backend: ollama, ram_gb: 1}"


@pytest.mark.parametrize(
    "written",
    ["7", "007", "yes", "1_0", "10:30", "0x1F", "1e5", ".inf", "null", "2030-01-01", "true"],
)
def test_text_is_taken_as_it_was_written(written: str) -> None:
    result = _one(
        f"{{id: a, name: {written}, repo: {written}, status: {written}, ram_gb: 1, backend: ollama}}"
    )
    (row,) = result.imported
    assert (row.repo, row.status) == (written, written)
    assert row.spec.model == (None if written == ".inf" else written)


@pytest.mark.parametrize("written", ["7", "007", "yes", "null", "1e5"])
def test_an_unquoted_id_is_text(written: str) -> None:
    (row,) = _one(f"{{id: {written}, backend: ollama, ram_gb: 1}}").imported
    assert row.spec.role == written


@pytest.mark.parametrize("written", ["", "~", '""', "-x", '"a\\n"', "\u0661"])
def test_an_id_that_names_no_role_skips_its_entry(written: str) -> None:
    (row,) = _import(f"roster:\n- id: {written}\n  backend: ollama\n  ram_gb: 1\n").skipped
    assert row.reason is SkipReason.ID
    assert "1 to 64 bytes" in row.message


@pytest.mark.parametrize(
    ("written", "port"),
    [
        ("8080", 8080),
        ("0x1F90", 8080),
        ("+1", 1),
        ("65535", 65535),
        ("~", None),
        ("null", None),
        ("", None),
    ],
)
def test_a_port_is_an_integer_or_null(written: str, port: int | None) -> None:
    (row,) = _import(
        f"roster:\n- id: a\n  backend: ollama\n  ram_gb: 1\n  port: {written}\n"
    ).imported
    assert row.spec.serve.port == port


@pytest.mark.parametrize(
    "written",
    [
        "65536",
        "-1",
        "8080.0",
        "8080.5",
        '"8080"',
        "'1'",
        "true",
        "yes",
        "1_0",
        "8e3",
        "[1]",
        "{}",
        ".nan",
        "!!str 1",
        "9" * 30,
        "9" * 1000,
        "none",
    ],
)
def test_any_other_port_refuses_the_file(written: str) -> None:
    refused = _refused(f"roster:\n- {ENTRY}\n- id: b\n  port: {written}\n")
    assert refused.fault is RosterFault.PARSE
    assert "port" in str(refused) or "digits" in str(refused)
    assert "line " in str(refused)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no document"),
        ("- id: a\n", "a roster is a mapping"),
        ("~", "a roster is a mapping"),
        ("roster: ~\n", "must be a list"),
        ("roster: {}\n", "must be a list"),
        ("roster:\n- a\n", "an entry of the roster is a mapping"),
        ("roster:\n- ~\n", "an entry of the roster is a mapping"),
        ("roster:\n- backend: ollama\n", "line 2: an entry without id"),
        ("roster:\n- id: [a]\n", "id must be text"),
        ("roster:\n- id: a\n  repo: {a: 1}\n", "repo must be text"),
        ("roster:\n- id: a\n  id: b\n", "second time"),
        ("roster: []\nroster: []\n", "second time"),
        ("roster: []\n---\nroster: []\n", "second document"),
        ('roster:\n- id: "\\ud800"\n', "lone surrogate"),
    ],
)
def test_what_does_not_fit_the_shape_refuses_the_file(text: str, told: str) -> None:
    refused = _refused(text)
    assert refused.fault is RosterFault.PARSE
    assert told in str(refused)


@pytest.mark.parametrize("data", [b"\xff", b"roster: []\n# \xe9", "roster: []".encode("utf-16")])
def test_bytes_that_are_no_utf_8_are_refused_as_a_whole(data: bytes) -> None:
    with pytest.raises(RosterRefused, match="not UTF-8") as refused:
        import_roster(data)
    assert refused.value.fault is RosterFault.PARSE
    with pytest.raises(RosterRefused, match="not UTF-8") as refused:
        read_overlay(data)
    assert refused.value.fault is RosterFault.OVERLAY


def test_the_bytes_of_a_file_are_as_good_as_its_text() -> None:
    text = f"\ufeffroster:\n- {ENTRY}\n- {{id: \u00e9, backend: x}}\n"
    assert import_roster(text.encode()) == import_roster(text)
    overlay = "\ufeffsticky: {\u00e9: true}\n"
    assert read_overlay(overlay.encode()) == read_overlay(overlay)
    assert import_roster(b"roster: []\n".ljust(1 << 20, b"#")).imported == ()
    for large in ("\u00e9" * (1 << 19) + "#", ("\u00e9" * (1 << 19)).encode() + b"\xc3"):
        with pytest.raises(RosterRefused) as refused:
            import_roster(large)
        assert refused.value.fault is RosterFault.TOO_LARGE


def test_a_byte_order_mark_and_json_are_welcome() -> None:
    text = json.dumps({"roster": [{"id": "a", "backend": "ollama", "ram_gb": 2, "port": None}]})
    (row,) = _import("\ufeff" + text).imported
    assert row.spec.memory.weights_bytes == 2_000_000_000


@pytest.mark.parametrize(
    "written", ["9" * 1000, "!!foo 1", "[1]", "!!bool true", "0x" + "f" * 800, "1_0", "2030-01-01"]
)
def test_anything_may_stand_as_a_figure_and_costs_only_its_entry(written: str) -> None:
    result = _import(f"roster:\n- {{id: b, backend: ollama, ram_gb: {written}}}\n- {ENTRY}\n")
    assert [row.reason for row in result.skipped] == [SkipReason.RAM_GB]
    assert [row.spec.role for row in result.imported] == ["a"]


def test_a_missing_port_is_no_alias_of_the_usual_port_spelt_out() -> None:
    result = _import(f"roster:\n- {ENTRY}\n- {{id: b, backend: ollama, ram_gb: 1, port: 11434}}\n")
    assert len(result.imported) == 2


def test_a_repeated_id_is_looked_up_as_the_first() -> None:
    rows = "".join(f"- {{id: a, backend: ollama, ram_gb: {at}, repo: r{at}}}\n" for at in (1, 2))
    result = _import(f"roster:\n{rows}")
    found = result.find("a")
    assert found is not None
    assert found.repo == "r1"
    assert result.find("b") is None
    with pytest.raises(RosterRefused, match='"a" is that of 2 imported entries') as refused:
        result.refuse_repeated_roles()
    assert refused.value.fault is RosterFault.REPEATED_ROLE
    _import(f"roster:\n- {ENTRY}\n- {ENTRY}\n").refuse_repeated_roles()


FIELDS = st.dictionaries(
    st.sampled_from(["role", "name", "repo", "backend", "status", "port", "ram_gb", "why"]),
    st.sampled_from(
        ["ollama", "mlx_lm x", "8080", "0", "~10", "5", "voice", "null", "o/a", "yes", "'a b'"]
    ),
)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", "'d e'"]), FIELDS), max_size=8))
def test_every_entry_is_in_exactly_one_list(entries: list[tuple[str, dict[str, str]]]) -> None:
    rows = "".join(
        f"- {{id: {id_}{''.join(f', {key}: {value}' for key, value in fields.items())}}}\n"
        for id_, fields in entries
    )
    try:
        result = import_roster(f"roster:\n{rows}" if rows else "roster: []")
    except RosterRefused as refused:
        assert "port is" in str(refused)  # noqa: PT017  # only some of the examples are refused
        return
    assert len(result.imported) + len(result.skipped) == len(entries)
    for imported in result.imported:
        validate(imported.spec)


@given(
    st.text(alphabet=st.characters()) | st.text(alphabet="roster:\n- {}[]id,ab1~\"'&*!#|> \ud800")
)
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    for read in (import_roster, read_overlay):
        try:
            read(text)
        except RosterRefused:
            continue


def _one(entry: str) -> RosterImport:
    return _import(f"roster:\n- {entry}\n")


def _import(text: str, overlay: Overlay | None = None) -> RosterImport:
    return import_roster(text, overlay)


def _refused(text: str) -> RosterRefused:
    with pytest.raises(RosterRefused) as refused:
        import_roster(text)
    return refused.value
