"""Whether what breaks a statement in floats breaks it with more digits, too."""

from __future__ import annotations

import ctypes
import math
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from clusterproof.algorithms.randomness import generator
from clusterproof.algorithms.time_limit import TimeLimitExceeded, time_limit
from clusterproof.theory.claims.claim import Statement
from clusterproof.theory.claims.judge import Conclusion, judge
from clusterproof.theory.claims.rounding import as_floats
from clusterproof.theory.claims.sides import Sides

DIGITS = 50
"""Digits of the numbers that mpmath computes with."""
PERTURBATIONS, RELATIVE = 20, 1e-12
"""Number and relative size of the changes under which a violation must stay one, if a function takes only floats."""
UP_AND_DOWN = {
    "x86_64": (0x800, 0x400),
    "AMD64": (0x800, 0x400),
    "aarch64": (0x400000, 0x800000),
    "arm64": (0x400000, 0x800000),
}
"""What C's ``fesetround`` takes to round every float up, or down, by processor; 0 is to the nearest."""
SEEN = 1e-7
"""Excess, of the largest side, from which a violation in floats counts: a double root costs half of the digits."""
SECONDS = 1.0
"""Processor time for each way."""


def confirmed(
    statement: Statement, evaluation: Any, name: str, magnitude: float, seed: int, claim: str
) -> bool:
    """Return whether an instance breaks a line whatever rounding adds.

    Floats are tried as fractions, then with 50 digits. If the function takes neither, the excess must be seen beside
    the largest side of the claim's instances, and the sign must not depend on changes of 1e-12, nor on whether floats
    are rounded up, down or to the nearest: large constants of the function show in that alone.

    Parameters
    ----------
    statement, evaluation, name
        The statement, the instance with its lines, and the line that it breaks.
    magnitude
        Largest magnitude of a side over the instances of the claim.
    seed, claim
        Axes of its random numbers.
    """
    sides, instance = evaluation.lines[name], evaluation.instance
    evaluate = partial(statement.lines, seed=seed, claim=claim)
    floats = [key for key, value in instance.items() if _is_float(value)]
    if floats and all(isinstance(instance[key], float) for key in floats):
        for convert in (Fraction, _digits):
            exact = {**instance, **{key: convert(instance[key]) for key in floats}}
            broken = _breaks(evaluate, exact, name)
            if broken is not None:
                return broken
    if not _excess(sides) > SEEN * magnitude:
        return False
    try:
        with time_limit(SECONDS):
            changed = (each for each in _perturbed(instance, floats) if statement.space.holds(each))
            return all(
                _still_broken(evaluate, each, name, direction)
                for each in (instance, *changed)
                for direction in (*UP_AND_DOWN.get(platform.machine(), ()), 0)
            )
    except TimeLimitExceeded:
        return True


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _digits(value: float) -> Any:
    import mpmath  # type: ignore[import-untyped]  # has none

    return mpmath.mpf(value)


Evaluate = Callable[[dict[str, Any]], Mapping[str, Conclusion]]


def _breaks(evaluate: Evaluate, instance: dict[str, Any], name: str) -> bool | None:
    """Compare the sides of an instance of fractions or long numbers; None where the function does not take them."""
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
    """Largest difference by which sides break a line."""
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


@contextmanager
def _rounding(direction: int) -> Iterator[None]:
    """Let the processor round floats in a direction; to the nearest if the system has no way to say so."""
    choose: Callable[[int], object] = int
    with suppress(TypeError, OSError, AttributeError):  # of Windows
        choose = ctypes.CDLL(None).fesetround
    choose(direction)
    try:
        yield
    finally:
        choose(0)


def _still_broken(evaluate: Evaluate, instance: dict[str, Any], name: str, direction: int) -> bool:
    """Return whether a changed instance breaks the line; so too if it no longer meets the hypotheses."""
    try:
        with _rounding(direction):
            lines = evaluate(instance)
        return judge(lines, 0.0, instance)[name].broken
    except Exception:
        return True
