"""Assumptions 1 to 5."""
