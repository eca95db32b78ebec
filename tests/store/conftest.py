"""Stores of each kind, for tests that hold for both."""

from store.stores import lives, stores

__all__ = ["lives", "stores"]
