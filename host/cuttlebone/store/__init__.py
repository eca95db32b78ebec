"""What keeps jobs, event logs, journals and what follows from an end: protocols, and their implementations."""
