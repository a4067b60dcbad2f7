"""Sweeps: which runs a file asks for, what is measured on them, and the one table of all of it."""
