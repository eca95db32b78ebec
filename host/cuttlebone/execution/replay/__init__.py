"""Runs a block against a recorded job, without a model."""
