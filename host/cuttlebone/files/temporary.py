"""Names that editors and compilers give to files which are gone in a moment."""

import re
from typing import Final

_TEMPORARY: Final = re.compile(
    r"[.#].*"  # hidden; Emacs' `.#a.c` and `#a.c#`, Vim's `.a.c.swp`, LibreOffice's `.~lock.a.c#`
    r"|.*[~#]"
    r"|[0-9]+"  # Vim's `4913`, by which it tries whether it may write
    r"|.*\.(?:swp|swo|swx|swpx|bak|orig|old|part|crswap|kate-swp|autosave)"
    r"|.*\.te?mp(?:[-._0-9].*|[A-Za-z0-9]{6})?"  # `a.c.tmp`, `a.c.tmp1234`, `a.tmp-1f.c`
    r"|.*___jb_(?:tmp|old)___"  # JetBrains
    r"|sed[A-Za-z0-9]{6}",  # `sed -i`
    re.DOTALL,
)


def is_temporary(name: str) -> bool:
    """Whether a file of this name, without its folder, is none that a person means."""
    return _TEMPORARY.fullmatch(name) is not None
