"""Measuring: what is to be made fast, exactly what was run, and the host's own benchmarks."""
