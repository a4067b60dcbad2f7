"""All gradients and values that a smooth and strongly convex function with given minimiser can have at a point.

Let d be the difference between the point and the minimiser. The possible gradients are mu d + (L - mu) z for all z
with ||z||^2 <= <z, d>. The value minus the minimum can be any number from mu ||d||^2 / 2 + (L - mu) ||z||^2 / 2 to mu
||d||^2 / 2 + (L - mu) (<z, d> - ||z||^2 / 2). These are the interpolation conditions of two points. They are
necessary and sufficient for a function of the class (Taylor, Hendrickx and Glineur 2017, Theorem 4).

The units are mu and ||d||, and kappa = L / mu. Three numbers from 0 to 1 describe the gradient and the value.
``along`` is <z, d>. ``bent`` is ||z||^2 - <z, d>^2 divided by its largest value, <z, d> - <z, d>^2. ``raised`` is the
position of the function's value between the smallest (0) and the largest (1) possible value.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def gradient_square(kappa: Any, along: Any, bent: Any) -> Any:
    """Return ||gradient||^2."""
    return (1 + (kappa - 1) * along) ** 2 + (kappa - 1) ** 2 * _across(along, bent)


def square_after(step: Any, kappa: Any, along: Any, bent: Any) -> Any:
    """Return ||d - step gradient||^2."""
    return 1 - 2 * step * (1 + (kappa - 1) * along) + step**2 * gradient_square(kappa, along, bent)


def gap(kappa: Any, along: Any, bent: Any, raised: Any) -> Any:
    """Return the value of the function minus its minimum."""
    half, square = Fraction(1, 2), along**2 + _across(along, bent)
    return half + (kappa - 1) * (half * square + raised * (along - square))


def _across(along: Any, bent: Any) -> Any:
    return bent * along * (1 - along)
