"""Statements of Yu, Liu, Sun and Wang (2023), AAAI student abstract, and their repairs."""
