"""The documents of the specs that jobs in memory were accepted for."""

from collections import Counter


class SpecDocuments:
    """Keeps each document once. Owner: the store in memory, under its lock.

    Invariant: a document is here while a job that is kept names it.
    """

    def __init__(self) -> None:
        self._documents: dict[str, bytes] = {}
        self._jobs: Counter[str] = Counter()

    def hold(self, sha256: str | None, document: bytes | None) -> None:
        """Another job names it."""
        if sha256 is None or document is None:
            return
        self._documents.setdefault(sha256, document)
        self._jobs[sha256] += 1

    def release(self, sha256: str | None) -> None:
        """A job that named it is wiped."""
        if sha256 is None or sha256 not in self._jobs:
            return
        self._jobs[sha256] -= 1
        if self._jobs[sha256] == 0:
            del self._jobs[sha256], self._documents[sha256]

    def get(self, sha256: str) -> bytes | None:
        """The document with that digest."""
        return self._documents.get(sha256)
