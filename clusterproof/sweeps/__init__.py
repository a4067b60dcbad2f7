"""Sweeps: which runs a file asks for, what is measured on them, and the one table that comes of it.

They lie beside the commands, above the tables whose machine runs their units: nothing below needs them.
"""
