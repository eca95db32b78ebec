"""A store of each kind, for tests that hold for both."""

from store.stores import store

__all__ = ["store"]
