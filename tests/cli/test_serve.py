"""What a host does with its process before it serves."""

import gc

from cuttlebone.cli.serve import keep_for_good


def test_what_a_host_begins_with_is_not_looked_at_again() -> None:
    known = [object]
    before = gc.get_freeze_count()
    keep_for_good()
    try:
        assert gc.get_freeze_count() > before
        assert not any(one is known for one in gc.get_objects())
    finally:
        gc.unfreeze()
    assert any(one is known for one in gc.get_objects())
