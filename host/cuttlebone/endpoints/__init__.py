"""Which models a host serves, and where the generations of a role go."""
