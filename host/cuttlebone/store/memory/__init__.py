"""The stores in memory: for tests, and for hosts that need not survive a restart."""
