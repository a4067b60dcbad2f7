"""Loops for the compiler, imported with the first of them that is needed: numba is an extra."""
