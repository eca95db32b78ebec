"""Run manifests beyond the vectors: engines, extra_body, drafts, hostile values."""

from typing import Any

import pytest
from hypothesis import given

from bench.manifests import ENGINE, SMALLEST, body_errors, errors_of
from cuttlebone.bench.findings import Verdict
from cuttlebone.bench.manifest import (
    check_manifest,
    manifest_shape_faults,
)
from cuttlebone.bench.manifest.extra_body import WORK_KEYS
from json_strategies import json_values


@given(json_values(keys=[*SMALLEST, *ENGINE, "extra_body", "env", "host", "chat_template_kwargs"]))
def test_no_value_raises_anything(value: Any) -> None:
    assert check_manifest(value).verdict is Verdict.REJECT
    for key in SMALLEST:
        report = check_manifest({**SMALLEST, key: value}, pins={"a": value})
        assert (report.normalised is None) is (report.verdict is Verdict.REJECT)


def test_a_manifest_is_filled_in_with_its_defaults_and_stays_so() -> None:
    report = check_manifest(SMALLEST)
    assert report.normalised == {
        **SMALLEST,
        "engines": [{**ENGINE, "host": "127.0.0.1", "endpoint_kind": "clip_http"}],
    }
    assert check_manifest(report.normalised) == report


def test_an_unknown_key_is_an_error_wherever_it_stands() -> None:
    engine = {**ENGINE, "gpu": 1}
    slo = {"modes": ["single"], "buckets": ["short"], "max_tokens": 1, "slo": {"p99": 1}}
    assert errors_of(engines=[engine], workload=slo, x=1) == [
        "/engines/0/gpu",
        "/workload/slo/p99",
        "/x",
    ]


def test_objects_that_are_open_take_any_key() -> None:
    assert errors_of(engines=[{**ENGINE, "resolved_config": {"anything": [None]}}]) == []
    assert body_errors({"repetition_penalty": 1.1, "guided_json": {"a": 1}}) == []


def test_labels_and_ports_tell_engines_apart() -> None:
    engines = [ENGINE, {**ENGINE, "label": "Default", "port": 8090.0}, {**ENGINE, "port": 1}]
    assert errors_of(engines=engines) == ["/engines/2/label", "/engines/1/port"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_an_engine_listens_on_loopback(host: str) -> None:
    assert errors_of(engines=[{**ENGINE, "host": host}]) == []


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "example.org",
        "::ffff:127.0.0.1",
        "::1%lo",
        "[::1]",
        "LOCALHOST",
        "127.1",
    ],
)
def test_and_nowhere_else(host: str) -> None:
    assert errors_of(engines=[{**ENGINE, "host": host}]) == ["/engines/0/host"]


@pytest.mark.parametrize("revision", ["0" * 40, "abcdef0123" * 4, "ABCDEF0123" * 4])
def test_a_revision_is_a_full_commit(revision: str) -> None:
    assert errors_of(model={"id": "a", "revision": revision}) == []


@pytest.mark.parametrize(
    "revision",
    ["", "main", "0" * 39, "0" * 41, "0" * 39 + "g", "0" * 40 + "\n", "\u0660" * 40, "v1.0"],
)
def test_and_nothing_shorter_or_looser(revision: str) -> None:
    assert errors_of(model={"id": "a", "revision": revision}) == ["/model/revision"]


def test_an_unquoted_commit_of_digits_is_a_number_in_yaml_and_refused() -> None:
    (found,) = check_manifest({**SMALLEST, "model": {"id": "a", "revision": 10**39}}).errors
    assert "quote it" in found.message


def test_a_manifest_without_digest_is_a_draft_that_is_not_repeated() -> None:
    draft = {**SMALLEST, "harness": {"inferencekit_version": "1", "wheel_sha256": ""}}
    assert check_manifest(draft).verdict is Verdict.ACCEPT_DRAFT
    assert check_manifest(SMALLEST, is_repeat=True).verdict is Verdict.ACCEPT
    (found,) = check_manifest(draft, is_repeat=True).errors
    assert found.pointer == "/harness/wheel_sha256"


@pytest.mark.parametrize(
    "digest", ["a" * 63, "a" * 65, "g" * 64, "a" * 64 + "\n", " ", "\u0660" * 64]
)
def test_a_digest_that_is_none_is_refused(digest: str) -> None:
    harness = {"inferencekit_version": "1", "wheel_sha256": digest}
    assert errors_of(harness=harness) == ["/harness/wheel_sha256"]


@pytest.mark.parametrize(
    "key", sorted(WORK_KEYS | {"chat_template_kwargs", "api_key", "Authorization"})
)
@pytest.mark.parametrize("value", [None, 1])
def test_extra_body_changes_neither_work_nor_answer_and_holds_no_secret(
    key: str, value: object
) -> None:
    assert body_errors({key: value}) == [f"/workload/extra_body/{key}"]


def test_a_secret_deep_inside_extra_body_is_found() -> None:
    body = {"extra": [{"headers": {"Authorization": "Bearer x"}}]}
    assert body_errors(body) == ["/workload/extra_body/extra/0/headers/Authorization"]


@pytest.mark.parametrize(
    ("body", "warned"),
    [
        ({"top_k": 1, "top_p": 1, "min_p": 0, "seed": 0}, ["top_k", "top_p", "min_p", "seed"]),
        ({"temperature": 0, "seed": 1}, ["seed"]),
        ({"temperature": 0.0, "top_k": -1}, ["top_k"]),
        ({"temperature": 1e-9, "top_k": 1}, []),
        ({"temperature": 0}, []),
        ({}, []),
    ],
)
def test_sampling_without_a_temperature_is_warned_of(
    body: dict[str, Any], warned: list[str]
) -> None:
    report = check_manifest({**SMALLEST, "workload": {**SMALLEST["workload"], "extra_body": body}})
    assert [found.pointer for found in report.warnings] == [
        f"/workload/extra_body/{key}" for key in warned
    ]
    assert report.verdict is (Verdict.ACCEPT_WITH_WARNING if warned else Verdict.ACCEPT)


def test_a_draft_with_a_warning_is_a_draft() -> None:
    harness = {"inferencekit_version": "1", "wheel_sha256": ""}
    workload = {**SMALLEST["workload"], "extra_body": {"seed": 1}}
    assert (
        check_manifest({**SMALLEST, "harness": harness, "workload": workload}).verdict
        == "accept_draft"
    )


@pytest.mark.parametrize(
    ("workload", "pointers"),
    [
        ({"modes": ["clip"], "clips": "c"}, []),
        ({"modes": ["clip", "load"], "clips": "c"}, []),
        ({"modes": ["clip"]}, ["/workload/clips"]),
        ({"modes": ["load"]}, ["/workload/buckets", "/workload/max_tokens"]),
        ({"modes": []}, ["/workload/modes", "/workload/buckets", "/workload/max_tokens"]),
        (
            {"modes": "clip", "clips": "c"},
            ["/workload/modes", "/workload/buckets", "/workload/max_tokens"],
        ),
    ],
)
def test_what_a_workload_needs_depends_on_its_modes(
    workload: dict[str, Any], pointers: list[str]
) -> None:
    found = [fault.pointer for fault in manifest_shape_faults({**SMALLEST, "workload": workload})]
    assert sorted(found) == sorted(pointers)


@pytest.mark.parametrize(
    "path", [".", "a", "a/b", "a..b", "..a", "a/..b", "a//b", "...", "a/~", "..\n", "\\.."]
)
def test_these_are_relative_paths(path: str) -> None:
    assert errors_of(engines=[{**ENGINE, "cwd": path}]) == []


@pytest.mark.parametrize(
    "path", ["", "/", "/a", "~", "~a/b", "..", "../a", "a/..", "a/../b", "a\n/..", "./.."]
)
def test_these_are_not(path: str) -> None:
    assert errors_of(engines=[{**ENGINE, "cwd": path}]) == ["/engines/0/cwd"]


@pytest.mark.parametrize("version", [True, "1", 2, 1.5, None])
def test_the_version_is_the_number_1(version: object) -> None:
    assert errors_of(manifest_version=version) == ["/manifest_version"]
    assert errors_of(manifest_version=1.0) == []
