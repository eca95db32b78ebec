"""What the host does for a guest: one module a family of commands, and what one job may touch."""
