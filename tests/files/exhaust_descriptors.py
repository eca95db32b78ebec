"""Run as a program: use up all file descriptors by opening, and print what came of it as JSON."""

import json
import resource
import sys
from pathlib import Path

from cuttlebone.errors import CommandError
from cuttlebone.files import Grants, HandleTable

LIMIT = 40


def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    with Grants.resolve(Path(sys.argv[1]), ["./docs"]) as grants:
        table = HandleTable(grants, handles_max=1000, window_bytes_max=100)
        opened = 0
        try:
            while True:
                opened = table.open("docs/a.txt").handle
        except CommandError as refused:
            table.close(1)
            table.close(2)
            again = table.open("docs/a.txt").handle
            print(json.dumps([opened, refused.code, refused.message, again]))  # noqa: T201  # its answer
        table.close_all()


main()
