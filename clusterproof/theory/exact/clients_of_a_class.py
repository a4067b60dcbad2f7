"""What the one-round claims about every smooth strongly convex loss share."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

MU = Fraction(1, 10)
"""Strong convexity of the losses, whose smoothness is 1."""


def mean(values: Sequence[Any]) -> Any:
    """Mean of points or numbers."""
    return sum(values[1:], start=values[0]) / len(values)


def square(vector: Any) -> Any:
    """||vector||^2."""
    return vector @ vector


def local_steps(client: Any, model: Any, step_size: Fraction, steps: int, correction: Any = None) -> Any:
    """Return y after steps y <- y - eta (grad f_i(y) + correction)."""
    for _ in range(steps):
        gradient = client.gradient(model)
        model = model - step_size * (gradient if correction is None else gradient + correction)
    return model
