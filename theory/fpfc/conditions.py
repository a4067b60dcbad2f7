"""The conditions of Theorem 1 as printed: no step size, augmentation and number of steps meet them."""

from __future__ import annotations

from fractions import Fraction

from theory.claim import Context, register
from theory.verdict import Finding, Kind


def gap(smoothness: Fraction, convexity: Fraction) -> Fraction:
    """(L + mu)^2 - 4 L mu, minus (L - mu)^2: zero."""
    return (smoothness + convexity) ** 2 - 4 * smoothness * convexity - (smoothness - convexity) ** 2


@register(
    "fpfc/conditions",
    label="Theorem 1, conditions as printed",
    kind="hypothesis",
    repaired_by="fpfc/repaired-models",
)
def conditions(context: Context) -> Finding:
    """The step size and rho > L_f / (1 - 2c) can be met together.

    Hypotheses
        mu = rho - L_- > 0, L = L_f + rho, 0 < alpha <= 1 / (L + mu), c = 1 - 2 alpha mu L / (L + mu).

    Statement
        There are admissible alpha and rho with rho > L_f / (1 - 2c) > 0.

    Proof
        There are none: 1 - c <= 2 mu L / (L + mu)^2 <= 1/2 because (L + mu)^2 - 4 mu L = (L - mu)^2 >= 0.
        So c >= 1/2 and 1 - 2c <= 0: the bound on rho is negative or infinite, and it binds nothing or
        everything. Likewise log c < 0 makes T_i > 2 log 2 / log c hold for every T_i.

    Symbols
        alpha ``step_size``, rho ``augmentation``, T_i ``local_steps``.

    Source
        Yu et al. (2023), Theorem 1. Read T_i > 2 log 2 / log(1/c) and rho > L_f / (1 - 2 c^(T/2)) instead, which is
        what the printed C_1 is derived from; under that reading see ``fpfc/theorem-1-models``.

    Checked
        The identity is one of polynomials of degree 2 in each of two variables: it holds because it
        holds on a grid of 3 x 3 points, in rational arithmetic.
    """
    grid = [Fraction(k) for k in range(3)]
    exact = all(gap(one, other) == 0 for one in grid for other in grid)
    return Finding(
        verdict=Kind.VACUOUS if exact else Kind.ILL_POSED,
        reason="c >= 1/2 for every admissible step size, since (L + mu)^2 - 4 mu L = (L - mu)^2: 1 - 2c <= 0, and "
        "no rho exceeds L_f / (1 - 2c) > 0",
        trials=9,
        failures=0,
    )
