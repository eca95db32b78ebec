"""What is shown of a job that runs on its own: everything, its progress, or nothing."""

import sys
from dataclasses import asdict
from typing import Final, Protocol

from rich.console import Console
from rich.text import Text

from cuttlebone.authoring.tracing import Traced, TraceEntry
from cuttlebone.cli.output import json_text, shown
from cuttlebone.cli.watching import EventView
from cuttlebone_abi import Json

TEXT_CHARS_MAX: Final = 400
"""How much of one message is shown."""

_SIGNS: Final = {
    Traced.INPUT: ("→", "bold"),
    Traced.COMMAND: ("←", "cyan"),
    Traced.EVENT: ("→", "green"),
    Traced.STOP: ("■", "yellow"),
    Traced.END: ("✗", "red"),
}


class JobView(Protocol):
    """Where a job is shown. Called by the thread of the job alone."""

    def entry(self, entry: TraceEntry) -> None:
        """Show one message between host and guest."""

    def progress(self, value: Json) -> None:
        """Show what the guest emitted."""

    def token(self, text: str) -> None:
        """Show a piece of generated text."""

    def waiting(self, cause: str) -> None:
        """Show what the job is waiting for."""

    def close(self) -> None:
        """End a line that is still open."""


class QuietView:
    """Shows nothing."""

    def entry(self, entry: TraceEntry) -> None:
        """Leave it out."""

    def progress(self, value: Json) -> None:
        """Leave it out."""

    def token(self, text: str) -> None:
        """Leave it out."""

    def waiting(self, cause: str) -> None:
        """Leave it out."""

    def close(self) -> None:
        """Nothing is open."""


class JsonView:
    """Writes each message as a line of JSON to stderr."""

    def entry(self, entry: TraceEntry) -> None:
        """Write one message."""
        sys.stderr.write(json_text({"trace": asdict(entry)}, pretty=False) + "\n")

    def progress(self, value: Json) -> None:
        """Leave it out: the command that emits it is shown."""

    def token(self, text: str) -> None:
        """Leave it out: the event that ends a generation has them all."""

    def waiting(self, cause: str) -> None:
        """Leave it out: it is no message between host and guest."""

    def close(self) -> None:
        """Nothing is open."""


class ProgressView:
    """Shows progress and text as `cuttlebone run` does."""

    def __init__(self, console: Console) -> None:
        self._events = EventView(console)

    def entry(self, entry: TraceEntry) -> None:
        """Leave it out."""

    def progress(self, value: Json) -> None:
        """Show what the guest emitted."""
        self._events.show("progress", value)

    def token(self, text: str) -> None:
        """Show a piece of generated text."""
        self._events.show("token", {"text": text})

    def waiting(self, cause: str) -> None:
        """Show what the job is waiting for."""
        self._events.show("status", {"waiting_for": cause})

    def close(self) -> None:
        """End a line that is still open."""
        self._events.close()


class TraceView:
    """Shows a trace on a console. Owned by the thread of the job.

    Invariant: `_in_text` is whether the cursor stands behind a piece of generated text.
    """

    def __init__(self, console: Console, *, chars_max: int = TEXT_CHARS_MAX) -> None:
        self._console = console
        self._chars_max = chars_max
        self._in_text = False

    def entry(self, entry: TraceEntry) -> None:
        """Show one message."""
        sign, style = _SIGNS[entry.kind]
        text = entry.text
        if len(text) > self._chars_max:
            text = f"{text[: self._chars_max]}… ({len(entry.text)} characters)"
        self.close()
        times = f"{entry.at_ms:9.1f} ms  +{entry.took_ms:<8.1f}"
        line = Text.assemble(
            (times, "dim"), f" {entry.step:>4} ", (f"{sign} {entry.kind:<8}", style), shown(text)
        )
        self._console.print(line, soft_wrap=True)

    def progress(self, value: Json) -> None:
        """Leave it out: the command that emits it is shown."""

    def token(self, text: str) -> None:
        """Show a piece of generated text, where the last one ended."""
        self._console.print(Text(shown(text), "italic"), end="", soft_wrap=True)
        self._in_text = True

    def waiting(self, cause: str) -> None:
        """Show what the job is waiting for."""
        self.close()
        self._console.print(Text(shown(f"… waiting for {cause}"), "dim"), soft_wrap=True)

    def close(self) -> None:
        """End a line that is still open."""
        if self._in_text:
            self._console.print()
            self._in_text = False
