"""The documents that say which endpoints there are."""
