"""The host's end of a zygote that does not come to life."""

import socket
import subprocess
import sys

import pytest

from cuttlebone.errors import OperatorError
from cuttlebone.sandbox.fork_server import _first_word


def test_a_zygote_that_ends_in_its_start_is_no_reason_to_do_without() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        command = [sys.executable, "-c", "", str(theirs.fileno())]
        with subprocess.Popen(command, pass_fds=[theirs.fileno()]) as process:
            theirs.close()
            with pytest.raises(OperatorError, match="ended in its start") as refused:
                _first_word(process, ours)
    assert "isolation" not in str(refused.value)
