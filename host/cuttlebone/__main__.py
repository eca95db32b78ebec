"""`python -m cuttlebone` is the command `cuttlebone`."""

import sys

from cuttlebone.cli import main

sys.exit(main())
