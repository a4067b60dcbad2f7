"""Polynomials that are nonnegative where others are, shown by sums of squares that are checked in fractions."""
