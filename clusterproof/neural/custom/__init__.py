"""User-supplied data, networks and algorithms, by name."""
