"""Import user-supplied data, networks and algorithms, given as references."""
