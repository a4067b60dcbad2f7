"""Exact evaluations, held against runs of the algorithm that they speak of."""

from __future__ import annotations


def confirm_equal(what: str, observed: float, expected: float) -> None:
    """Require that a run of the algorithm agrees with the exact evaluation.

    Raises
    ------
    ArithmeticError
        If they differ by more than rounding error: then the check itself is broken.
    """
    if not abs(observed - expected) <= 1e-9 * (1 + abs(expected)):
        raise ArithmeticError(f"{what}: the run gives {observed!r}, the exact evaluation {expected!r}")
