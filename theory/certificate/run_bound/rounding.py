"""What all certificates of a run's bound begin with: one replicate, parts of the failure probability, few digits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.algorithms.validation import check_number
from clusterproof.theory.bounds.logarithmic.gaussian import SHARES
from clusterproof.theory.certificate.exact import require_rationals
from clusterproof.theory.certificate.parameters import exact

DIGITS = 12
"""Significant digits of the numbers that may be rounded."""

SLACK = 1e-9
"""By which a bound is raised, so that the rounding of what is before it does not matter."""

LEAST_CHANCE = Fraction(1, 10**100)
"""What a probability is raised to, so that it has few digits."""


def one_replicate(trace: Trace, replicate: int, failure_probability: float) -> tuple[np.ndarray, np.ndarray]:
    """Give a replicate's first models, (P, d), and its assignments, (T, m).

    Raises
    ------
    InvalidArgument
        If there is no such replicate, no round, no such probability, or no python-flint.
    """
    require_rationals()
    check_number(
        "failure_probability", failure_probability, above=0, below=1, remedy="1e-9 makes one run decide"
    )
    single = trace.models.ndim == 3
    replicates = 1 if single else trace.models.shape[1]
    if not 0 <= replicate < replicates:
        raise InvalidArgument("replicate", replicate, f"must be below {replicates}", "count from 0")
    if trace.rounds == 0:
        raise InvalidArgument("trace", "no rounds", "must have at least one round", "run some")
    if single:
        return trace.models[0], trace.assignments
    return trace.models[0, replicate], trace.assignments[:, replicate]


def divided(failure_probability: float) -> tuple[Fraction, Fraction, Fraction]:
    """Divide a failure probability exactly: delta_1, delta_2 and delta_3."""
    whole = exact("failure_probability", failure_probability)
    first, second, third = (Fraction(str(share)) * whole for share in SHARES)
    return first, second, third


def above(value: float) -> Fraction:
    """Round a non-negative number up to a few significant digits."""
    if value <= 0:
        return Fraction(0)
    scale = Fraction(10) ** (DIGITS - 1 - math.floor(math.log10(value)))
    return Fraction(math.ceil(Fraction(value) * scale)) / scale
