"""The examples of a page that are written as at Python's prompt, run as they stand."""

import doctest
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def failed_examples(page: str) -> tuple[int, int]:
    """Run the `pycon` blocks of a page as one session; give how many failed, of how many."""
    text = (DOCS / page).read_text(encoding="utf-8")
    session = "".join(part.split("```")[0] for part in text.split("```pycon\n")[1:])
    examples = doctest.DocTestParser().get_doctest(session, {}, page, None, 0)
    failed, attempted = doctest.DocTestRunner().run(examples)
    return failed, attempted
