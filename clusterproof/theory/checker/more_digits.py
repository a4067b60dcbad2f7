"""Whether what breaks a statement in floats breaks it with more digits, too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.conclusions import judge
from clusterproof.theory.checker.evaluation import Evaluation
from clusterproof.theory.checker.rounding import as_floats
from clusterproof.theory.checker.sides import Sides
from clusterproof.theory.checker.statement import Statement

DIGITS = 50
"""Digits of the numbers that mpmath computes with."""
PERTURBATIONS, RELATIVE = 20, 1e-12
"""Number and relative size of the changes under which a violation must stay one, if a function takes only floats."""
SEEN = 1e-7
"""Excess, of the largest side, from which a violation in floats counts: a double root costs half of the digits."""
SECONDS = 1.0
"""Processor time for each way."""


def confirmed(part: Statement, context: Context, found: Evaluation, magnitude: float) -> bool:
    """Return whether an instance breaks a statement whatever rounding adds.

    Floats are tried as fractions, then with 50 digits. Where the function takes neither, the excess must be seen beside
    the largest side of the claim's instances, and the sign must not depend on changes of 1e-12.

    Parameters
    ----------
    part, context
        The statement, and what gives its random numbers.
    found
        The instance, with its sides.
    magnitude
        Largest magnitude of a side over the instances of the claim.
    """
    name = found.broken or ""
    sides = found.conclusions[name]
    if not isinstance(sides, Sides) or sides.failure is not None or found.judged[name].exact:
        return True
    if sides.rounding is not None and not sides.identity:
        return True  # whoever stated it says what rounding is
    floats = [key for key, value in found.instance.items() if _is_float(value)]
    if floats and all(isinstance(found.instance[key], float) for key in floats):
        for convert in (Fraction, _digits):
            broken = _breaks(
                part,
                context,
                {**found.instance, **{key: convert(found.instance[key]) for key in floats}},
                name,
            )
            if broken is not None:
                return broken
    excess = _excess(sides)
    if not excess > SEEN * magnitude:
        return False
    try:
        with time_limit(SECONDS):
            return all(_still_broken(part, context, one) for one in _perturbed(found.instance, floats))
    except TimeLimitExceeded:
        return True


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _digits(value: float) -> Any:
    import mpmath

    return mpmath.mpf(value)


def _breaks(part: Statement, context: Context, one: dict[str, Any], name: str) -> bool | None:
    """Compare the sides of an instance of fractions or long numbers; None where the function does not take them."""
    import mpmath

    try:
        with time_limit(SECONDS), mpmath.workdps(DIGITS):
            sides = part.conclude(one, seed=context.seed, claim=context.claim)[name]
            if not isinstance(sides, Sides):
                return None
            long = (int, Fraction, mpmath.mpf)
            pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
            excesses = []
            for left, right in pairs:
                for a, b in zip(
                    *(np.ravel(np.asarray(side, dtype=object)) for side in np.broadcast_arrays(left, right)),
                    strict=True,
                ):
                    if not isinstance(a, long) or not isinstance(b, long):
                        return None
                    a, b = (
                        mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x
                        for x in (a, b)
                    )
                    gap = abs(a - b) if sides.identity else b - a if sides.lower else a - b
                    excesses.append(gap > mpmath.mpf(10) ** (10 - DIGITS) * max(abs(a), abs(b)))
            return any(map(bool, excesses))
    except (Exception, TimeLimitExceeded):  # a statement need not be defined for such numbers
        return None


def _excess(sides: Sides) -> float:
    """Largest difference by which the sides break the statement."""
    pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
    with np.errstate(all="ignore"):
        gaps = [as_floats(left) - as_floats(right) for left, right in pairs]
        worst = max(
            float(np.max(np.abs(gap) if sides.identity else -gap if sides.lower else gap)) for gap in gaps
        )
    return math.inf if math.isnan(worst) else worst


def _perturbed(instance: Mapping[str, Any], floats: list[str]) -> Iterator[dict[str, Any]]:
    stream = generator(0, "last digits")
    for _ in range(PERTURBATIONS if floats else 0):
        moved = {
            key: instance[key] * (1 + RELATIVE * stream.uniform(-1, 1, np.shape(instance[key])))
            for key in floats
        }
        yield dict(instance) | {
            key: value if np.ndim(value) else float(value) for key, value in moved.items()
        }


def _still_broken(part: Statement, context: Context, one: dict[str, Any]) -> bool:
    """Whether a changed instance breaks the statement; so where it left the ranges or the hypotheses."""
    try:
        if not part.space.holds(one):
            return True
        conclusions = part.conclude(one, seed=context.seed, claim=context.claim)
        return any(each.broken for each in judge(conclusions, context.significance, one).values())
    except Exception:
        return True
