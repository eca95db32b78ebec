"""The vectors of plans, receipts and the documents around them."""

from enum import StrEnum
from typing import Any

import pytest

from cuttlebone.plans import types
from cuttlebone.plans.types import (
    DOCUMENTS,
    ArtifactCompleteness,
    ExecutionMode,
    MalformedPlan,
    ProviderAnnouncement,
    read,
    read_word,
    supports,
    write,
)
from vector_cases import vectors


@vectors("execution_enums")
def test_a_word_is_spelt_exactly(given: Any, expected: Any) -> None:
    kind = getattr(types, given["type"])
    assert issubclass(kind, StrEnum)
    if expected == "accept":
        assert read_word(kind, given["value"]) == given["value"]
    else:
        with pytest.raises(MalformedPlan):
            read_word(kind, given["value"])


@vectors("execution_types")
def test_a_document_is_read_with_defaults_and_written_whole(given: Any, expected: Any) -> None:
    kind = DOCUMENTS[given["type"]]
    if expected["verdict"] == "reject":
        with pytest.raises(MalformedPlan):
            read(kind, given["value"])
        return
    document = read(kind, given["value"])
    assert write(document) == expected["normalised"]
    assert read(kind, write(document)) == document


@vectors("completeness_modes")
def test_a_set_of_artifacts_supports_certain_modes(given: Any, expected: Any) -> None:
    completeness = read_word(ArtifactCompleteness, given["completeness"])
    assert supports(completeness, read_word(ExecutionMode, given["mode"])) is expected


@vectors("legacy_announcement")
def test_an_older_announcement_means_full_weights(given: Any, expected: Any) -> None:
    try:
        announced: object = write(read(ProviderAnnouncement, given))
    except MalformedPlan:
        announced = "reject"
    assert announced == expected
