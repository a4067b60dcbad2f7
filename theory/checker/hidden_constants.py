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
HIGHEST, STRAIGHT = 8, 0.2
"""Highest power of a logarithm, and relative spread of the slopes of a line through reciprocal local powers."""


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

    A ratio that tends to a limit has local powers that fall to 0 faster than those of a logarithm, whose reciprocals
    are a line in the logarithm of the quantity.
    """
    from scipy.special import stdtrit

    values, ratios = values[-FITTED:], ratios[-FITTED:]
    if len(values) < FITTED or not all(0 < ratio < math.inf for ratio in ratios):
        return None
    x = np.array([abs(math.log(value) - math.log(values[0])) for value in values])
    y = np.array([math.log(ratio) for ratio in ratios])
    slope, start = np.polyfit(x, y, 1)
    deviation = math.sqrt(((y - start - slope * x) ** 2).sum() / (FITTED - 2) / ((x - x.mean()) ** 2).sum())
    half = float(stdtrit(FITTED - 2, (1 + LEVEL) / 2)) * deviation
    found = Growth(float(slope), float(slope) - half, float(slope) + half)
    powers, middles = np.diff(y) / np.diff(x), (x[1:] + x[:-1]) / 2
    if found.lower <= 0 or powers.min() <= 0:
        return None
    falls = np.diff(1 / powers) / np.diff(middles)  # 0 for a power, 1 / k for the k-th power of a logarithm
    if falls[-2:].max() < 1 / HIGHEST:
        return found
    mean = float(falls.mean())
    straight = mean >= 1 / HIGHEST and np.ptp(falls) <= STRAIGHT * mean
    return Growth(found.power, found.lower, found.upper, 1 / mean) if straight else None
