"""Import of user-supplied data, networks and algorithms, given as references ``MODULE:NAME`` or ``FILE.py:NAME``."""
