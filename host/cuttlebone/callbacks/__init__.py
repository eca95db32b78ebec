"""Callbacks: whoever submitted a job may have its end told to a URL, if the operator allows that host."""
