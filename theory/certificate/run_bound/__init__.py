"""Certificates of Theorems D and E on a given run, which a stranger can check without optimising anything."""
