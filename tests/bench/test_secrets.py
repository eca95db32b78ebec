"""Secrets stay out of manifests and out of messages."""

import pytest

from bench.manifests import ENGINE, SMALLEST, errors_of
from cuttlebone.bench.manifest import check_manifest
from cuttlebone.bench.secrets import looks_secret


@pytest.mark.parametrize("value", ["hf_abc", ""])
def test_a_secret_is_inherited_and_never_written(value: str) -> None:
    report = check_manifest(
        {**SMALLEST, "engines": [{**ENGINE, "env": {"HF_TOKEN": value, "A": value}}]}
    )
    (found,) = report.errors
    assert found.pointer == "/engines/0/env/HF_TOKEN"
    assert "null" in found.message
    assert "hf_abc" not in found.message
    assert errors_of(engines=[{**ENGINE, "env": {"HF_TOKEN": None}}]) == []


def test_the_value_of_a_secret_is_not_shown_when_its_shape_is_wrong() -> None:
    report = check_manifest({**SMALLEST, "engines": [{**ENGINE, "env": {"HF_TOKEN": 123456}}]})
    (found,) = report.errors
    assert "123456" not in found.message


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "hf_token",
        "token",
        "GITHUB_TOKEN_2",
        "HF_TOKEN_FILE",
        "API_KEY",
        "apiKey",
        "APIKEY",
        "OPENAI_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "x-api-key",
        "PASSWORD",
        "db_passwd",
        "DB_PWD",
        "DB_PASS",
        "smtpPass",
        "CLIENT_SECRET",
        "secrets",
        "Authorization",
        "HFToken",
        "accessToken",
        "SSH_PRIVATE_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "KEY",
        "NPM_AUTH",
        "session-cookie",
        "bearer",
    ],
)
def test_these_names_look_secret(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "OMP_NUM_THREADS",
        "TOKENIZERS_PARALLELISM",
        "MAX_TOKENS",
        "max_new_tokens",
        "stop_token_ids",
        "PWD",
        "token_count",
        "skip_special_tokens",
        "prompt_cache_key",
        "MONKEY",
        "COMPASS",
        "PASS_COUNT",
        "KEYBOARD",
        "PATH",
        "",
        "HOME",
        "allowed_token_ids",
        "CUDA_VISIBLE_DEVICES",
        "author",
        "secretary_desk",
        "\u00e9",
        "TOKEN_LIMIT",
    ],
)
def test_these_do_not(name: str) -> None:
    assert not looks_secret(name)
