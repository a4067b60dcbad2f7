"""Whether what breaks a line in floats breaks it with more digits, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from clusterproof.checker.claims.judge import Conclusion, judge
from clusterproof.checker.claims.ranges import Drawn, Instance, Interval, Range
from clusterproof.checker.claims.rounding import FLOOR, as_floats, unit_of
from clusterproof.checker.claims.sides import Sides
from clusterproof.checker.search.evaluation import Evaluation, Evaluator
from clusterproof.common.randomness import generator
from clusterproof.common.work_limit import TooMuchWork, limited_lines

DIGITS, LOST = 100, 60
"""Digits of the numbers that mpmath computes with, and how many of them a difference of large numbers may lose."""
PERTURBATIONS, RELATIVE = 30, (1e-12, 1e-9, 1e-6)
"""Number of changes under which a violation must stay one if a function takes only floats, and sizes of these.

They are relative to the largest number of the range, and of an array. Next to an offset of 1e6 the smallest is lost.
"""
SEEN = 1e-7
"""Excess, of the largest side, from which a violation in floats counts: a double root costs half of the digits."""
LINES = 3_000_000
"""Lines of Python for each way."""

Evaluate = Callable[..., Mapping[str, Conclusion]]


def confirmed(evaluator: Evaluator, evaluation: Evaluation, name: str, magnitude: float) -> bool | None:
    """Return whether an instance breaks a line whatever rounding adds; None if rounding may explain it.

    Floats and arrays of them are tried as fractions, then with 100 digits, which decide. If the function takes neither,
    the excess must be more than 1e-7 of the largest side of the claim's instances and 1e-14 of the largest number of
    the ranges, and the sign must not depend on changes of 1e-12, 1e-9 and 1e-6 within the ranges and of the floats
    that the function draws, nor of 1e-12 of each float by which a drawn object is written.

    Parameters
    ----------
    evaluator, evaluation, name
        Of the statement, the instance with its lines, and the line that it breaks.
    magnitude
        Largest magnitude of a side over the instances of the claim.
    """
    sides, instance = evaluation.lines[name], evaluation.instance
    assert isinstance(sides, Sides)  # others need no digits
    evaluate = partial(_lines, evaluator, instance)
    floats = [key for key, value in instance.items() if _is_float(value)]
    if floats:
        for convert in (Fraction, _digits):
            exact = {**instance, **{key: _converted(instance[key], convert) for key in floats}}
            broken = _breaks(evaluate, exact, name)
            if broken is not None:
                return broken
    ranges = evaluator.statement.space.ranges
    units = {key: _unit(ranges[key], instance, key) for key in floats}
    if not _excess(sides) > max(SEEN * magnitude, FLOOR * max(units.values(), default=0.0)):
        return None
    try:
        with limited_lines(LINES):
            changed = _perturbed(instance, units, ranges)
            sign = _sign(sides)
            return all(_still_broken(evaluate, each, name, sign, n) for n, each in enumerate(changed)) or None
    except TooMuchWork:
        return True


def _lines(
    evaluator: Evaluator, first: Instance, instance: Instance, shaken: tuple[float, int] | None = None
) -> Mapping[str, Conclusion]:
    """Evaluate an instance with the random numbers of the first one, changed by a share, which a number draws.

    So are those that the function draws from a seed of its own.
    """
    statement, stream = evaluator.statement, None
    if statement.random:
        stream = statement.stream(evaluator.seed, evaluator.claim, first)
    if shaken is None:
        return statement.lines(instance, stream)
    own = np.random.default_rng
    with patch.object(np.random, "default_rng", lambda seed=None: _Shaken(own(seed), *shaken)):
        return statement.lines(instance, None if stream is None else _Shaken(stream, *shaken))


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _converted(value: Any, convert: Callable[[float], Any]) -> Any:
    """Return a number, or an array of them, as exact or long numbers."""
    if not isinstance(value, np.ndarray):
        return convert(value)
    return np.array([convert(float(each)) for each in value.flat] + [None], dtype=object)[:-1].reshape(
        value.shape
    )


def _digits(value: float) -> Any:
    import mpmath

    return mpmath.mpf(value)


def _breaks(evaluate: Evaluate, instance: Instance, name: str) -> bool | None:
    """Compare the sides of an instance of fractions or long numbers; None if the function does not take them."""
    import mpmath

    try:
        with limited_lines(LINES), mpmath.workdps(DIGITS):
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
                    excesses.append(gap > mpmath.mpf(10) ** (LOST - DIGITS) * max(abs(a), abs(b)))
            return any(map(bool, excesses))
    except (Exception, TooMuchWork):  # a statement need not be defined for such numbers
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


def _perturbed(
    instance: Instance, units: Mapping[str, float], ranges: Mapping[str, Range]
) -> Iterator[dict[str, Any]]:
    stream = generator(0, "last digits")
    written = [key for key, each in ranges.items() if isinstance(each, Drawn) and key not in units]
    for number in range(PERTURBATIONS):
        size, changed = RELATIVE[number % len(RELATIVE)], dict(instance)
        for key, unit in units.items():
            moved = instance[key] + size * unit * stream.uniform(-1, 1, np.shape(instance[key]))
            of = getattr(ranges[key], "entries", ranges[key])
            if (ends := of.bounds(instance)) is not None and ends != (None, None):
                low, high = (None if end is None else float(end) for end in ends)
                moved = np.clip(moved, low, high)
            changed[key] = moved if np.ndim(moved) else float(moved)
        for key in written:
            with suppress(Exception):  # not every change is one that the object's reader takes
                changed[key] = ranges[key].decode(_moved(ranges[key].encode(instance[key]), stream))
        yield changed


class _Shaken(np.random.Generator):
    """A generator whose floats are changed by a share of up to ``size``."""

    def __init__(self, of: np.random.Generator, size: float, number: int) -> None:
        super().__init__(of.bit_generator)
        self.share, self.noise = size, np.random.Generator(np.random.PCG64(number))

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in ("share", "noise", "bit_generator", "spawn"):
            return found

        def draw(*arguments: Any, **named: Any) -> Any:
            value = found(*arguments, **named)
            if not _is_float(value):
                return value
            return value * (1 + self.share * self.noise.uniform(-1, 1, np.shape(value)))

        return draw


def _moved(code: Any, stream: np.random.Generator) -> Any:
    """Change the last digits of each float by which an object is written."""
    if isinstance(code, dict):
        return {key: _moved(each, stream) for key, each in code.items()}
    if isinstance(code, list):
        return [_moved(each, stream) for each in code]
    return code * (1 + RELATIVE[0] * stream.uniform(-1, 1)) if isinstance(code, float) else code


def _sign(sides: Any) -> float:
    """Sign of the largest difference of an equation; 0 of an inequality."""
    if not sides.identity:
        return 0.0
    gaps = np.concatenate([np.ravel(as_floats(left) - as_floats(right)) for left, right in sides.pairs])
    return float(np.sign(gaps[np.argmax(np.abs(gaps))]))


def _still_broken(evaluate: Evaluate, instance: Instance, name: str, sign: float, number: int) -> bool:
    """Return whether a changed instance breaks the line likewise; so too if it no longer meets the hypotheses."""
    try:
        lines = evaluate(instance, (RELATIVE[number % len(RELATIVE)], number))
        return judge(lines, 0.0, instance)[name].broken and _sign(lines[name]) == sign
    except Exception:  # a changed instance may break a hypothesis, or be none of the function
        return True
