"""A job's events for a person who watches: states, progress and text as they come."""

from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.text import Text

from cuttlebone.cli.output import shown
from cuttlebone.cli.progress_words import pace_words, progress_words
from cuttlebone_abi import Json

# The result says these, with the reason, so the status event before it needs no line.
_FINAL_STYLES: Final = {"completed": "green", "failed": "red", "cancelled": "yellow"}


class EventView:
    """Shows events on a console. Owned by the command that reads them.

    Everything in an event comes from a guest or a model, so it is put into Text, in which Rich
    looks for no markup, and escaped. Invariant: `_in_text` is whether the cursor stands behind
    a piece of generated text, so that anything else has to begin a new line.
    """

    def __init__(self, console: Console, clock: Callable[[], float] | None = None) -> None:
        """With a `clock`, in seconds, for a job that is watched from its beginning, its pace is said."""
        self._console = console
        self._in_text = False
        self._clock = clock
        self._began_s = 0.0 if clock is None else clock()

    def show(self, kind: str, data: Json) -> None:
        """Show one event; one of a kind that is not for people is left out."""
        match kind, data:
            case "token", {"text": str(text)}:
                self._write(Text(shown(text), "italic"), end="")
                self._in_text = True
            case "status", {"waiting_for": str(cause)}:
                self._line("…", Text(shown(f"waiting for {cause}")))
            case "status", {"status": str(status)} if status not in _FINAL_STYLES:
                self._line("●", Text(shown(status), "bold"))
            case "progress", _:
                self._line("→", Text(shown(progress_words(data, columns=self._console.width))))
            case "result", {"status": str(status)}:
                style = _FINAL_STYLES.get(status, "bold")
                self._line("●", Text(shown(status + self._took(data) + _reason(data)), style))
            case "gap", _:
                self._line("…", Text("some events were dropped", "yellow"))
            case _:
                pass

    def close(self) -> None:
        """End a line that is still open."""
        if self._in_text:
            self._console.print()
            self._in_text = False

    def _took(self, envelope: Json) -> str:
        if self._clock is None:
            return ""
        return pace_words(envelope, watched_s=self._clock() - self._began_s)

    def _line(self, sign: str, text: Text) -> None:
        self.close()
        self._write(Text.assemble((sign, "cyan"), " ", text), end="\n")

    def _write(self, text: Text, *, end: str) -> None:
        self._console.print(text, end=end, soft_wrap=True)


def _reason(envelope: Json) -> str:
    match envelope:
        case {"error": {"code": str(code), "message": str(message)}}:
            return f", {code}: {message}"
        case _:
            return ""


def stderr_console() -> Console:
    """Return a console for what is not the result of a command."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False)
