"""Bounds on the error of a run with every constant: the repaired theorems as objects that claims and runs share."""
