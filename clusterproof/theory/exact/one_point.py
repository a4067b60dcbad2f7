"""A smooth and strongly convex function at a point and its minimiser: every gradient and value that it can have.

With d the point's distance from the minimiser, the gradient is mu d + (L - mu) z for any z with ||z||^2 <= <z, d>, and
the value above the least one is anything from mu ||d||^2 / 2 + (L - mu) ||z||^2 / 2 to mu ||d||^2 / 2 + (L - mu)
(<z, d> - ||z||^2 / 2). These are the interpolation conditions of two points, and all that is known of a function of
the class there: they are necessary and sufficient (Taylor, Hendrickx and Glineur 2017, Theorem 4).

All is in units of mu and ||d||, with kappa = L / mu, and by shares from 0 to 1: ``along`` is <z, d>; ``bent`` the share
that ||z||^2 - <z, d>^2 has of <z, d> - <z, d>^2, its largest value; ``raised`` where the value is between its ends.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def gradient_square(kappa: Any, along: Any, bent: Any) -> Any:
    """||gradient||^2."""
    return (1 + (kappa - 1) * along) ** 2 + (kappa - 1) ** 2 * _across(along, bent)


def square_after(step: Any, kappa: Any, along: Any, bent: Any) -> Any:
    """||d - step gradient||^2."""
    return 1 - 2 * step * (1 + (kappa - 1) * along) + step**2 * gradient_square(kappa, along, bent)


def gap(kappa: Any, along: Any, bent: Any, raised: Any) -> Any:
    """Value above the least one."""
    half, square = Fraction(1, 2), along**2 + _across(along, bent)
    return half + (kappa - 1) * (half * square + raised * (along - square))


def _across(along: Any, bent: Any) -> Any:
    return bent * along * (1 - along)
