"""A run beside the theorems about its algorithm."""
