"""Statements up to a hidden constant: whether the ratio of the two sides grows without bound along a family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.space import Space

FITTED, SPAN, LEVEL = 5, 16, 0.99
"""Values towards the limit to which a power is fitted, least factor that they span, and level of its interval."""
HIGHEST, STRAIGHT, FLAT, NOISE = 50, 0.2, 1 / 8, 1e-9
"""Highest power of a logarithm, relative spread of the slopes of a line through reciprocal local powers, largest slope
where the growth is like a power, and what rounding may add to these slopes."""


@dataclass(frozen=True)
class Growth:
    """Fitted power of a quantity, its interval, and the power of the logarithm if the growth is like that, else 0."""

    power: float
    lower: float
    upper: float
    logarithm: float = 0.0

    @property
    def speed(self) -> tuple[bool, float]:
        """Sort key: logarithms before powers, small powers first."""
        return not self.logarithm, self.logarithm or self.power

    def __str__(self) -> str:
        if self.logarithm:
            return f"the power {self.logarithm:.3g} of a logarithm"
        return f"the power {self.power:.3g} (interval {self.lower:.3g} to {self.upper:.3g})"


def check_families(families: Mapping[str, Sequence[Any]], space: Space) -> None:
    """Refuse families of unknown quantities, or of too few or too close values: InvalidArgument."""
    for name, values in families.items():
        if name not in space.ranges:
            rule = f"must name quantities of the statement, not {name}; they are {', '.join(space.ranges)}"
            raise InvalidArgument("families", dict(families), rule, "correct the name")
        last, ordered = list(values)[-FITTED:], sorted(set(values))
        if (
            len(last) < FITTED
            or list(values) not in (ordered, ordered[::-1])
            or ordered[0] <= 0
            or max(last) < SPAN * min(last)
        ):
            rule = f"must be {FITTED} or more positive values in order, the last of which span a factor of {SPAN}"
            raise InvalidArgument(f"families[{name!r}]", values, rule, "go further towards the limit")


def growth(values: Sequence[Any], ratios: Sequence[Any]) -> Growth | None:
    """Fit how a ratio grows along monotone values of a quantity; None where it is not seen to grow without bound.

    The reciprocals of a ratio's local powers tend to a constant for a power of the quantity, are a line in its
    logarithm for a power of the logarithm, and rise ever faster where the ratio tends to a limit, even one far beyond
    the last value, as n / (n + 1e8) does. The fitted power is that of the last values.
    """
    from scipy.special import stdtrit

    if len(values) < FITTED or not all(0 < ratio < math.inf for ratio in ratios[-FITTED:]):
        return None
    found = [abs(math.log(value) - math.log(values[0])) for value in values]
    # where the quantity was continued, as much of the way as its second half is straight or bent
    first = min(len(values) - FITTED, sum(each < found[-1] / 2 for each in found))
    if not all(0 < ratio < math.inf for ratio in ratios[first:]):
        return None
    x, y = np.array(found[first:]), np.array([math.log(ratio) for ratio in ratios[first:]])
    powers, middles = np.diff(y) / np.diff(x), (x[1:] + x[:-1]) / 2
    x, y = x[-FITTED:], y[-FITTED:]
    slope, start = np.polyfit(x, y, 1)
    deviation = math.sqrt(((y - start - slope * x) ** 2).sum() / (FITTED - 2) / ((x - x.mean()) ** 2).sum())
    half = float(stdtrit(FITTED - 2, (1 + LEVEL) / 2)) * deviation
    if slope - half <= 0 or powers.min() <= 0:
        return None
    falls = np.diff(1 / powers) / np.diff(middles)  # 0 for a power, 1 / k for the k-th power of a logarithm
    early, late = falls[len(falls) // 2] - falls[0], falls[-1] - falls[len(falls) // 2]
    if falls[-1] > NOISE and 0 < early < late and early + late > NOISE:
        return None
    power, mean = float(slope), float(falls.mean())
    if mean >= 1 / HIGHEST and np.ptp(falls) <= STRAIGHT * mean:
        return Growth(power, power - half, power + half, 1 / mean)
    return Growth(power, power - half, power + half) if falls[-2:].max() < FLAT else None
