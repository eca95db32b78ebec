"""The examples in docs/endpoints.md are right."""

from cuttlebone.endpoints.config.roster import import_roster, read_overlay
from cuttlebone.endpoints.config.spec import LatencyClass, base_url, read_spec, validate
from cuttlebone.text.documents import read_document
from doc_examples import DOCS, failed_examples


def test_the_examples_are_right() -> None:
    page = (DOCS / "endpoints.md").read_text(encoding="utf-8")
    spec_text, roster, overlay = (part.split("```")[0] for part in page.split("```yaml\n")[1:])
    spec = read_spec(read_document(spec_text.encode()))
    validate(spec)
    assert base_url(spec) == "http://127.0.0.1:9001"
    result = import_roster(roster, read_overlay(overlay))
    assert result.skipped == ()
    (row,) = result.imported
    assert row.spec.latency_class is LatencyClass.INTERACTIVE
    assert row.spec.excludes == ("role:planner", "swarm")
    assert not row.spec.sticky


def test_the_examples_for_python_are_right() -> None:
    failed, attempted = failed_examples("endpoints.md")
    assert attempted > 3
    assert failed == 0
