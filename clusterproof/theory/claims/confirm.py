"""Exact evaluations, compared with runs of the algorithm that they speak of."""

from __future__ import annotations

AGREEMENT, NOUGHT = 1e-9, 1e-14
"""How far a run of the algorithm may be from the exact evaluation: relative to that, and of 0."""


class RunDisagrees(ArithmeticError):
    """A run of the algorithm gives something else than the statement: the check itself is broken."""


def confirm_equal(what: str, observed: float, expected: float) -> None:
    """Require that a run of the algorithm agrees with the exact evaluation, up to rounding error.

    Raises
    ------
    RunDisagrees
        If they differ by more than rounding error.
    """
    if not abs(observed - expected) <= AGREEMENT * abs(expected) + NOUGHT:
        raise RunDisagrees(f"{what}: the run gives {observed!r}, the exact evaluation {expected!r}")
