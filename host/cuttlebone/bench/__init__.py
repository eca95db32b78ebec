"""Measuring: what is to be made fast, exactly what was run, and how fast a model serves here."""
