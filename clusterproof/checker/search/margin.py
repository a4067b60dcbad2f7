"""Decide with floats whether an instance breaks a line by more than rounding errors can explain.

This decision is not a proof. The search uses it only if a claim cannot be evaluated with real numbers because it
contains random tasks, runs of algorithms or functions of SciPy.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import numpy as np

from clusterproof.checker.claims.judge import Conclusion, judge
from clusterproof.checker.claims.ranges import Drawn, Interval, Range
from clusterproof.checker.claims.rounding import FLOOR, as_floats, unit_of
from clusterproof.checker.claims.sides import Sides
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.search.confirmation import approximation_in
from clusterproof.checker.search.evaluator import Evaluation, Evaluator
from clusterproof.common.limits import TooMuchWork, limited_lines
from clusterproof.common.randomness import generator

PERTURBATIONS, RELATIVE = 30, (1e-12, 1e-9, 1e-6)
"""Number of small random perturbations under which the line must stay false, and their relative sizes.

Sizes are relative to the largest number of a range or array.
"""
SEEN = 1e-7
"""Smallest violation that counts, relative to the largest side. At a double root, floats lose half of their digits."""
LINES = 3_000_000
"""Largest number of Python lines that all perturbed evaluations together may execute."""
MODES: dict[str, dict[str, int]] = {
    "x86_64": {"down": 0x400, "up": 0x800, "towards 0": 0xC00},
    "AMD64": {"down": 0x400, "up": 0x800, "towards 0": 0xC00},
    "aarch64": {"down": 0x800000, "up": 0x400000, "towards 0": 0xC00000},
    "arm64": {"down": 0x800000, "up": 0x400000, "towards 0": 0xC00000},
}
"""Rounding modes of a processor, with the codes of its C library."""
FACTORS = {"down": 1 - 2**-52, "up": 1 + 2**-52, "towards 0": 1 - 2**-51}
"""Factors on values of elementary functions, for which the C library ignores the rounding mode."""
FUNCTIONS = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "erf",
    "erfc",
    "lgamma",
]

Evaluate = Callable[..., Mapping[str, Conclusion]]


def by_margin(evaluator: Evaluator, evaluation: Evaluation, name: str, magnitude: float) -> str:
    """Return why rounding errors may explain a violation, or an empty string if they cannot explain it.

    Both sides must be finite, and neither may be an integer computed from floats. The violation must be larger than the
    rounding that the claim states. If the claim states none, it must be larger than 1e-7 times the largest side over
    all instances, and larger than 1e-14 times the largest number of the ranges. The line must stay false in each
    rounding mode of the processor, with the values of elementary functions rounded in the same direction. The line must
    also stay false under random relative perturbations of size 1e-12, 1e-9 and 1e-6. They apply to the quantities,
    within their ranges, and to the random floats that the function draws. Floats in the JSON form of a drawn object are
    perturbed by 1e-12.

    Parameters
    ----------
    evaluator, evaluation, name
        The evaluator of the statement, the instance with its lines, and the name of the line that it breaks.
    magnitude
        Largest magnitude of a side over all instances of the claim.
    """
    sides, instance = evaluation.lines[name], evaluation.instance
    assert isinstance(sides, Sides)  # other conclusions are not decided by this margin
    if method := approximation_in(evaluator.statement.function):
        return f"{method} has method errors besides rounding"
    if evaluation.judged[name].exact:
        return "its whole numbers come from floats, or may have wrapped around"
    if not _is_finite(sides):
        return "a side is not finite in floats"
    floats = [key for key, value in instance.items() if _is_float(value)]
    ranges = evaluator.statement.space.ranges
    units = {key: _unit(ranges[key], instance, key) for key in floats}
    is_stated = sides.rounding is not None or (sides.identity and sides.unit is not None)
    if not is_stated and not _excess(sides) > max(SEEN * magnitude, FLOOR * max(units.values(), default=0.0)):
        return "the difference is less than 1e-7 of the largest side"
    modes = MODES.get(platform.machine())
    if modes is None:
        return f"this processor's rounding modes are not known ({platform.machine()})"
    evaluate = partial(_lines, evaluator, instance)
    with suppress(TooMuchWork), limited_lines(LINES):
        sign = _sign(sides)
        for words, mode in modes.items():
            if not _still_broken(partial(_rounded, evaluate, mode, FACTORS[words]), instance, name, sign):
                return f"it holds if the processor rounds {words}"
        for number, changed in enumerate(_perturbed(instance, units, ranges)):
            shaken = RELATIVE[number % len(RELATIVE)], number
            if not _still_broken(partial(evaluate, shaken=shaken), changed, name, sign):
                return "it holds after a small change of the instance"
    return ""


def _is_finite(sides: Sides) -> bool:
    pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
    return all(bool(np.isfinite(as_floats(side)).all()) for pair in pairs for side in pair)


def _rounded(evaluate: Evaluate, mode: int, factor: float, instance: Instance) -> Mapping[str, Conclusion]:
    """Evaluate an instance in one of the processor's rounding modes."""
    from unittest.mock import patch  # imported here because it takes a tenth of a second

    library = ctypes.CDLL(None)
    before = library.fegetround()
    with ExitStack() as stack:
        for module, name in itertools.product((math, np), FUNCTIONS):
            if function := getattr(module, name, None):
                stack.enter_context(patch.object(module, name, _moved_by(function, factor)))
        library.fesetround(mode)
        try:
            return evaluate(instance)
        finally:
            library.fesetround(before)


def _moved_by(function: Callable[..., Any], factor: float) -> Callable[..., Any]:
    return lambda *values, **named: function(*values, **named) * factor


def _lines(
    evaluator: Evaluator, first: Instance, instance: Instance, shaken: tuple[float, int] | None = None
) -> Mapping[str, Conclusion]:
    """Evaluate an instance again with the same random numbers, optionally perturbed.

    ``shaken`` contains the relative size of the perturbations, and a seed. The perturbations also apply to random
    numbers that the function draws with its own seed.
    """
    statement, stream = evaluator.statement, None
    if statement.random:
        stream = statement.stream(evaluator.seed, first)
    if shaken is None:
        return statement.lines(instance, stream)
    from unittest.mock import patch

    own = np.random.default_rng
    with patch.object(np.random, "default_rng", lambda seed=None: _Shaken(own(seed), *shaken)):
        return statement.lines(instance, None if stream is None else _Shaken(stream, *shaken))


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _excess(sides: Sides) -> float:
    """Return the largest violation of the line over all entries."""
    pairs = sides.pairs if sides.identity else ((sides.measured, sides.allowed),)
    with np.errstate(all="ignore"):
        gaps = [as_floats(left) - as_floats(right) for left, right in pairs]
        worst = max(
            float(np.max(np.abs(gap) if sides.identity else -gap if sides.lower else gap)) for gap in gaps
        )
    return math.inf if math.isnan(worst) else worst


def _unit(allowed: Range, instance: Instance, name: str) -> float:
    """Return the largest magnitude among the values of a quantity and the ends of its range."""
    return unit_of([instance[name], *(allowed.tried_ends(instance) if isinstance(allowed, Interval) else ())])


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
            if isinstance(of, Interval) and of.ends(instance) != (None, None):
                low, high = (None if end is None else float(end) for end in of.ends(instance))
                moved = np.clip(moved, low, high)
            changed[key] = moved if np.ndim(moved) else float(moved)
        for key in written:
            with suppress(Exception):  # the function that reads the object may reject a change
                changed[key] = ranges[key].decode(_moved(ranges[key].encode(instance[key]), stream))
        yield changed


class _Shaken(np.random.Generator):
    """A random generator whose floats are perturbed by random relative amounts of at most ``size``."""

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
    """Perturb the last digits of each float in the JSON form of an object."""
    if isinstance(code, dict):
        return {key: _moved(each, stream) for key, each in code.items()}
    if isinstance(code, list):
        return [_moved(each, stream) for each in code]
    return code * (1 + RELATIVE[0] * stream.uniform(-1, 1)) if isinstance(code, float) else code


def _sign(sides: Any) -> float:
    """Return the sign of the largest violation of an equation, or 0 for an inequality."""
    if not sides.identity:
        return 0.0
    gaps = np.concatenate([np.ravel(as_floats(left) - as_floats(right)) for left, right in sides.pairs])
    return float(np.sign(gaps[np.argmax(np.abs(gaps))]))


def _still_broken(evaluate: Evaluate, instance: Instance, name: str, sign: float) -> bool:
    """Return whether a perturbed instance breaks the line in the same direction, or cannot be evaluated."""
    try:
        lines = evaluate(instance)
        return judge(lines, 0.0, instance)[name].broken and _sign(lines[name]) == sign
    except Exception:  # a changed instance may break a hypothesis or raise an error
        return True
