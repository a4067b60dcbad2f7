"""Statements of Zhao et al. (2023), Electronics 12, 1972, and what repairs them."""

from theory.cfl_mgd import (  # in the order of the paper, then our own
    theorem_b,
    corollary_b1,
)
