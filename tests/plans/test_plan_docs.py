"""The examples in docs/plans.md are right."""

from doc_examples import failed_examples


def test_the_examples_for_python_are_right() -> None:
    failed, attempted = failed_examples("plans.md")
    assert attempted > 3
    assert failed == 0
