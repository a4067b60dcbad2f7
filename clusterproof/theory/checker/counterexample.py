"""Exact evaluations, held against runs of the algorithm that they speak of."""

from __future__ import annotations

AGREEMENT = 1e-9
"""How far a run of the algorithm may be from the exact evaluation, relative to that."""
ROUNDING = 1e-14
"""How far it may be from an evaluation of 0."""


class RunDisagrees(ArithmeticError):
    """A run of the algorithm gives something else than the exact evaluation: the check itself is broken."""


def confirm_equal(what: str, observed: float, expected: float) -> None:
    """Require that a run of the algorithm agrees with the exact evaluation, up to rounding error.

    Raises
    ------
    RunDisagrees
        If they differ by more than rounding error.
    """
    if not abs(observed - expected) <= AGREEMENT * abs(expected) + ROUNDING:
        raise RunDisagrees(f"{what}: the run gives {observed!r}, the exact evaluation {expected!r}")
