"""A wish that the batch under way may end, which compiled code can look at."""

import ctypes


class Interrupt:
    """One byte, set and taken back by any thread.

    Compiled code looks at it a thousand times a batch, from a thread that does not hold the
    interpreter and should not wait for it: so it is memory, and no object.
    """

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)

    @property
    def asked(self) -> bool:
        """Whether the batch is to end."""
        return self._text[0] != b"\0"

    @property
    def address(self) -> int:
        """Where it is: a text of C, empty unless the batch is to end. Valid while this object is."""
        return ctypes.addressof(self._text)

    def ask(self) -> None:
        """Have the batch under way end."""
        self._text[0] = b"\1"

    def clear(self) -> None:
        """Let the next batch go on to its end."""
        self._text[0] = b"\0"
