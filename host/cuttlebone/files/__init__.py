"""Files for guests: what a spec grants, opening without races, handles, and windows of UTF-8 text."""

from cuttlebone.files.grants import Grants
from cuttlebone.files.handles import HandleTable, OpenedFile
from cuttlebone.files.roots import roots_named
from cuttlebone.files.windows import Window

__all__ = ["Grants", "HandleTable", "OpenedFile", "Window", "roots_named"]
