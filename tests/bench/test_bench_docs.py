"""The examples for Python in docs/intake-manifest.md are right."""

from doc_examples import failed_examples


def test_the_examples_for_python_are_right() -> None:
    failed, attempted = failed_examples("intake-manifest.md")
    assert attempted > 3
    assert failed == 0
