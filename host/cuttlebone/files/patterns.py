"""Patterns of a spec's `capabilities.read`, as what they allow below a root."""

import fnmatch
import re
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from cuttlebone.files.paths import Components, UnusablePath, check_text, names_folder, resolve

_WILDCARD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Everything:
    """All files below the root at any depth, hidden ones included: the operator named the folder."""

    def locate(self, rest: Components) -> Components | None:
        """Say which file below the root is meant by what follows the root in a path."""
        return rest

    def leads_to(self, rest: Components) -> bool:  # noqa: ARG002  # every folder does
        """Say whether something can be granted in the folder that `rest` names below the root."""
        return True

    def __str__(self) -> str:
        return "everything below"


@dataclass(frozen=True, slots=True)
class OneFile:
    """One file of the root; what follows the grant's own path in a guest's must be nothing."""

    name: str

    def locate(self, rest: Components) -> Components | None:
        """Say which file below the root is meant, or None."""
        return None if rest else (self.name,)

    def leads_to(self, rest: Components) -> bool:  # noqa: ARG002  # the grant names no folder
        """Say whether something can be granted in a folder: nothing is."""
        return False

    def __str__(self) -> str:
        return f"the file {self.name} in"


@dataclass(frozen=True, slots=True)
class Wildcards:
    """Files below the root whose components match, one by one.

    `*`, `?` and `[…]` match inside one component, `**` stands for any number of whole ones. As
    in a shell, none of them matches a hidden name, one that starts with a dot, unless the pattern
    has that dot.
    """

    parts: Components
    matchers: tuple[re.Pattern[str] | None, ...]
    """One for each part, None for `**`."""

    @classmethod
    def compile(cls, parts: Components) -> Self:
        """Make the matchers. Those of fnmatch do not backtrack across stars: linear time."""
        matchers = (None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts)
        return cls(parts, tuple(matchers))

    def locate(self, rest: Components) -> Components | None:
        """Say which file below the root is meant, or None."""
        return rest if self._matches(rest) else None

    def leads_to(self, rest: Components) -> bool:
        """Say whether something can be granted in the folder that `rest` names below the root."""
        reached = self._start(rest)
        for part, matcher in zip(self.parts, self.matchers, strict=True):
            if reached[-1]:
                return True
            reached = self._advance(reached, part, matcher, rest)
            if matcher is None and reached[-1]:
                return True
        return False

    def _matches(self, names: Components) -> bool:
        reached = self._start(names)
        for part, matcher in zip(self.parts, self.matchers, strict=True):
            reached = self._advance(reached, part, matcher, names)
        return reached[-1]

    @staticmethod
    def _start(names: Components) -> list[bool]:
        # reached[i]: the parts so far can match exactly the first i names. One pass a part keeps
        # the time linear in the path, where backtracking would be exponential in the `**`s.
        return [True] + [False] * len(names)

    @staticmethod
    def _advance(
        reached: list[bool], part: str, matcher: re.Pattern[str] | None, names: Components
    ) -> list[bool]:
        if matcher is None:
            further = list(reached)
            for at, name in enumerate(names):
                further[at + 1] |= further[at] and not _hidden(name)
            return further
        hidden_allowed = _hidden(part)
        return [False] + [
            before and (hidden_allowed or not _hidden(name)) and matcher.match(name) is not None
            for before, name in zip(reached, names, strict=False)
        ]

    def __str__(self) -> str:
        return f"what matches {'/'.join(self.parts)} in"


Extent: TypeAlias = Everything | OneFile | Wildcards
"""What a grant allows below its root."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern divided into the path up to the first wildcard and the components from there on."""

    literal: Components
    wildcards: Components


def parse_pattern(text: str, folder: Components) -> Pattern:
    """Read a pattern, relative to `folder` unless it is absolute; raise UnusablePath."""
    check_text(text)
    parts = text.split("/")
    first = next((at for at, part in enumerate(parts) if _WILDCARD.search(part)), len(parts))
    wildcards = tuple(part for part in parts[first:] if part not in {"", "."})
    if ".." in wildcards:
        raise UnusablePath("`..` after a wildcard has no clear meaning")
    for part in wildcards:
        if "**" in part and part != "**":
            raise UnusablePath(f"`**` must be a whole component, but stands in {part!r}")
    if wildcards and wildcards[-1] != "**" and names_folder(text):
        raise UnusablePath("a wildcard stands for files, and what ends in `/` is a folder")
    # The slash keeps an absolute pattern absolute when its first component is a wildcard.
    return Pattern(resolve("/".join([*parts[:first], ""]), folder), wildcards)


def _hidden(name: str) -> bool:
    return name.startswith(".")
