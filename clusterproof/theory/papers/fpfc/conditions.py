"""The conditions of Theorem 1 with a positive bound on rho: no step size and augmentation meet them."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_least, claim, rationals, suppose

Condition = Annotated[Fraction, rationals(1, 5, 3, upwards=True)]
"""L / mu."""
Step = Annotated[Fraction, rationals(Fraction(1, 10), 1, 10, downwards=True)]
"""alpha (L + mu), at most 1."""


def contraction(condition: Fraction, step: Fraction) -> Fraction:
    """c = 1 - 2 alpha mu L / (L + mu)."""
    return 1 - 2 * step * condition / (condition + 1) ** 2


@claim("fpfc/conditions", label="Theorem 1, conditions", judges="reading", repaired_by="fpfc/repaired-models")
def conditions(condition: Condition, step: Step) -> Sides:
    """The step size and rho > L_f / (1 - 2c) > 0 can be met together.

    Hypotheses
        mu = rho - L_- > 0, L = L_f + rho, 0 < alpha <= 1 / (L + mu), c = 1 - 2 alpha mu L / (L + mu).

    Statement
        There are admissible alpha and rho with rho > L_f / (1 - 2c) > 0.

    Proof
        There are none: 1 - c <= 2 mu L / (L + mu)^2 <= 1/2 because (L + mu)^2 - 4 mu L = (L - mu)^2 >= 0.
        So c >= 1/2 and 1 - 2c <= 0: the bound on rho is negative or infinite, and it binds nothing or
        everything. Likewise log c < 0 makes T_i > 2 log 2 / log c hold for every T_i.

    Source
        Yu et al. (2023), Theorem 1, a reading. The text has "T_i > 2 log 2 / log c" and "rho > max{L_f / (1 - 2c),
        2 lambda / xi, 2 / (a - 1), L_-}". That L_f / (1 - 2c) is positive, as a bound on rho would be, is not printed;
        without it the bound is negative and the conditions are met. For another reading, T_i > 2 log 2 / log(1/c)
        and rho > L_f / (1 - 2 c^(T/2)), see ``fpfc/theorem-1-models`` and ``fpfc/theorem-1-models-positive``.
    """
    suppose("rho > L_f / (1 - 2c) > 0", contraction(condition, step) < Fraction(1, 2))
    return at_least(1 - 2 * contraction(condition, step), nothing=0)


@conditions.step("c >= 1/2")
def slow_contraction(condition: Condition, step: Step) -> Sides:
    """No admissible step contracts by more than a half."""
    return at_least(contraction(condition, step), half=Fraction(1, 2))
