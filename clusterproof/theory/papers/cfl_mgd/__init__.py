"""Statements of Zhao et al. (2023), Electronics 12, 1972, and their repairs."""
