"""Theorems D, E and A': the failure probability enters through its logarithm, so that runs can break a bound."""
