"""Whether what breaks a line in floats breaks it with more digits, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.claims.claim import Statement
from clusterproof.theory.claims.judge import Conclusion, judge
from clusterproof.theory.claims.ranges import Instance, Interval, Range
from clusterproof.theory.claims.rounding import FLOOR, as_floats, unit_of
from clusterproof.theory.claims.sides import Sides

DIGITS = 50
"""Digits of the numbers that mpmath computes with."""
PERTURBATIONS, RELATIVE = 20, (1e-12, 1e-9)
"""Number of changes under which a violation must stay one if a function takes only floats, and sizes of these.

They are relative to the largest number of the range, and of an array. Next to an offset of 1e6 the smaller one is lost.
"""
SEEN = 1e-7
"""Excess, of the largest side, from which a violation in floats counts: a double root costs half of the digits."""
SECONDS = 1.0
"""Processor time for each way."""

Evaluate = Callable[[Instance], Mapping[str, Conclusion]]


def confirmed(
    statement: Statement, evaluation: Any, name: str, magnitude: float, seed: int, claim: str
) -> bool:
    """Return whether an instance breaks a line whatever rounding adds.

    Floats are tried as fractions, then with 50 digits. If the function takes neither, the excess must be more than 1e-7
    of the largest side of the claim's instances and 1e-14 of the largest number of the ranges, and the sign must not
    depend on changes of 1e-12 and 1e-9.

    Parameters
    ----------
    statement, evaluation, name
        The statement, the instance with its lines, and the line that it breaks.
    magnitude
        Largest magnitude of a side over the instances of the claim.
    seed, claim
        Axes of its random numbers, which all these instances share.
    """
    sides, instance = evaluation.lines[name], evaluation.instance
    evaluate = partial(statement.lines, seed=seed, claim=claim, numbers_of=instance)
    floats = [key for key, value in instance.items() if _is_float(value)]
    if floats and all(isinstance(instance[key], float) for key in floats):
        for convert in (Fraction, _digits):
            exact = {**instance, **{key: convert(instance[key]) for key in floats}}
            broken = _breaks(evaluate, exact, name)
            if broken is not None:
                return broken
    units = {key: _unit(statement.space.ranges[key], instance, key) for key in floats}
    if not _excess(sides) > max(SEEN * magnitude, FLOOR * max(units.values(), default=0.0)):
        return False
    try:
        with time_limit(SECONDS):
            changed = _perturbed(instance, units)
            return all(_still_broken(evaluate, each, name) for each in changed if statement.space.holds(each))
    except TimeLimitExceeded:
        return True


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _digits(value: float) -> Any:
    import mpmath

    return mpmath.mpf(value)


def _breaks(evaluate: Evaluate, instance: Instance, name: str) -> bool | None:
    """Compare the sides of an instance of fractions or long numbers; None if the function does not take them."""
    import mpmath

    try:
        with time_limit(SECONDS), mpmath.workdps(DIGITS):
            sides = evaluate(instance)[name]
            if not isinstance(sides, Sides):
                return None
            long = (int, Fraction, mpmath.mpf)
            pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
            excesses = []
            for left, right in pairs:
                both = (np.ravel(np.asarray(side, object)) for side in np.broadcast_arrays(left, right))
                for first, second in zip(*both, strict=True):
                    if not isinstance(first, long) or not isinstance(second, long):
                        return None
                    a, b = (
                        mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x
                        for x in (first, second)
                    )
                    gap = abs(a - b) if sides.identity else b - a if sides.lower else a - b
                    excesses.append(gap > mpmath.mpf(10) ** (10 - DIGITS) * max(abs(a), abs(b)))
            return any(map(bool, excesses))
    except (Exception, TimeLimitExceeded):  # a statement need not be defined for such numbers
        return None


def _excess(sides: Sides) -> float:
    """Largest difference by which sides break a line."""
    pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
    with np.errstate(all="ignore"):
        gaps = [as_floats(left) - as_floats(right) for left, right in pairs]
        worst = max(
            float(np.max(np.abs(gap) if sides.identity else -gap if sides.lower else gap)) for gap in gaps
        )
    return math.inf if math.isnan(worst) else worst


def _unit(allowed: Range, instance: Instance, name: str) -> float:
    """Largest magnitude of a quantity in its range, or of an array."""
    return unit_of([instance[name], *(allowed.ends(instance) if isinstance(allowed, Interval) else ())])


def _perturbed(instance: Instance, units: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    stream = generator(0, "last digits")
    for number in range(PERTURBATIONS if units else 0):
        size = RELATIVE[number % 2]
        changed = {
            key: instance[key] + size * units[key] * stream.uniform(-1, 1, np.shape(instance[key]))
            for key in units
        }
        yield {
            **instance,
            **{key: value if np.ndim(value) else float(value) for key, value in changed.items()},
        }


def _still_broken(evaluate: Evaluate, instance: Instance, name: str) -> bool:
    """Return whether a changed instance breaks the line; so too if it no longer meets the hypotheses."""
    try:
        return judge(evaluate(instance), 0.0, instance)[name].broken
    except Exception:  # a changed instance may break a hypothesis, or be none of the function
        return True
