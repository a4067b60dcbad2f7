"""From a solver's floats to rationals that satisfy every equality and sign exactly."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.theory.certificates.lyapunov import (
    PAIRS,
    POINTS,
    POSITIVITY_PAIRS,
    System,
    Unknowns,
)
from clusterproof.theory.certificates.parameters import root_above
from clusterproof.theory.squares.exact import fraction, is_positive_semidefinite, rational

DIGITS = 12
"""Significant decimals kept of a solver's answer, relative to its largest number."""

PREFACTOR_DIGITS = 6

INFLATION = Fraction(10**9 + 1, 10**9)
"""Factor by which a scale computed in floats is raised."""


def rounded(unknowns: Unknowns) -> Unknowns:
    """Round a solution to rationals, negative multipliers to 0."""
    largest = max(abs(number) for numbers in vars(unknowns).values() for number in numbers)
    scale = 10 ** max(DIGITS - math.ceil(math.log10(max(largest, 1e-6))), 0)
    free = ("matrix", "values")
    return Unknowns(
        **{
            name: tuple(
                rational(Fraction(round((number if name in free else max(number, 0.0)) * scale), scale))
                for number in numbers
            )
            for name, numbers in vars(unknowns).items()
        }
    )


def balance(system: System, unknowns: Unknowns, rate_squared: Any) -> Unknowns:
    """Make the function values cancel exactly in contraction and positivity.

    A surplus of phi(x_k) is removed by a multiplier of (k, *), a deficit by one of (*, k): multipliers
    only grow. For kappa = 1 there are no function values in any inequality, and the weights c are 0.
    """
    if system.linear:
        return Unknowns.of_matrix(unknowns.matrix, system.zero)
    contraction = system.contraction(unknowns, rate_squared).linear
    positivity = system.positivity(unknowns).linear
    return replace(
        unknowns,
        contraction=_absorb(system, PAIRS, unknowns.contraction, contraction),
        positivity=_absorb(system, POSITIVITY_PAIRS, unknowns.positivity, positivity),
    )


def normalise(system: System, unknowns: Unknowns) -> Unknowns | None:
    """Scale a solution of the homogeneous system so that V >= |e_t|^2; None if V is not positive definite.

    ``positivity`` subtracts |e_t|^2; it is added again before the scale is computed.
    """
    remainder = system.positivity(unknowns).matrix
    if is_positive_semidefinite(remainder):
        return unknowns
    matrix = [[float(fraction(entry)) for entry in row] for row in remainder]
    matrix[0][0] += 1.0
    try:
        factor = np.linalg.cholesky(np.array(matrix))
    except np.linalg.LinAlgError:
        return None
    # entry (0, 0) of the inverse
    needed = float(np.sum(np.linalg.solve(factor, np.eye(len(matrix))[0]) ** 2))
    scale = rational(Fraction(f"{needed:.12e}") * INFLATION)
    return unknowns.map(lambda number: scale * number)


def with_prefactor(system: System, unknowns: Unknowns) -> tuple[Unknowns, Fraction] | None:
    """Add the multipliers of the start condition that prove the least C_0, and that C_0, rounded up.

    The function values cancel for nu_(t,*) = w and nu_(*,t) = w + (c_0 + c_1) / (1 - m). Then the condition
    is ((C_0^2 - p + m w, b + (1 + m) w / 2), (., d + w)) >= 0. With u = d + w and k = b - (1 + m) d / 2 its
    Schur complement requires C_0^2 >= constant + (1 - m)^2 u / 4 + k^2 / u, least at u = 2 |k| / (1 - m).
    """
    if system.linear:
        square = -system.start(unknowns, system.zero).matrix[0][0]
        return unknowns, root_above(fraction(square), PREFACTOR_DIGITS)
    m = system.strong_convexity
    difference = sum(unknowns.values) / (1 - m)
    unweighted = replace(unknowns, start=(difference, system.zero))
    (_, b), (_, d) = system.start(unweighted, system.zero).matrix
    k = b - (1 + m) * d / 2
    w = max(2 * abs(k) / (1 - m) - d, -difference, system.zero)
    completed = replace(unknowns, start=(w + difference, w))
    (first, mixed), (_, last) = system.start(completed, system.zero).matrix
    if last < 0 or (last == 0 and mixed != 0):
        return None
    square = (mixed * mixed / last if last > 0 else system.zero) - first
    return completed, root_above(fraction(square), PREFACTOR_DIGITS)


def _absorb(
    system: System, pairs: tuple[str, ...], multipliers: tuple[Any, ...], surplus: np.ndarray
) -> tuple[Any, ...]:
    """Raise one multiplier at each point so that the function values cancel."""
    raised = dict(zip(pairs, multipliers, strict=True))
    for point, amount in zip(POINTS[1:], surplus, strict=True):
        if amount != 0:
            pair = f"{point},*" if amount > 0 else f"*,{point}"
            raised[pair] += abs(amount) / (1 - system.strong_convexity)
    return tuple(raised.values())
