"""A host out of file descriptors."""

import json
import subprocess
import sys
from pathlib import Path

from bounds import scaled
from files.places import Place

PROGRAM = Path(__file__).with_name("exhaust_descriptors.py")


def test_running_out_of_descriptors_is_a_limit_that_closing_files_lifts(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM, place.spec],
        capture_output=True,
        text=True,
        check=True,
        timeout=scaled(60),
    )
    opened, code, message, again = json.loads(done.stdout)
    assert 20 < opened < 40
    assert code == "limit_exceeded"
    assert "RLIMIT_NOFILE is 40" in message
    assert again == opened + 1
