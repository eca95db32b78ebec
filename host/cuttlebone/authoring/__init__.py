"""Tools for authors of blocks: new folders, builds, cases, checks and traces."""
