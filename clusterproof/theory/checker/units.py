"""Units of quantities: how they change where losses and models are scaled.

Multiply every loss by c > 0 and every model by s > 0: f becomes c f(x / s). A quantity of the unit (alpha, beta) is
then multiplied by c^alpha s^beta. A statement about losses holds in all units or in none.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.range_ends import Instance

Unit: TypeAlias = tuple[Fraction, Fraction]
"""(alpha, beta): powers of the value of a loss and of the length of a model."""

NAMES: dict[str, Unit] = {
    "length": (Fraction(0), Fraction(1)),
    "value": (Fraction(1), Fraction(0)),
    "gradient": (Fraction(1), Fraction(-1)),
    "curvature": (Fraction(1), Fraction(-2)),
    "step": (Fraction(-1), Fraction(2)),
}
"""Units with a name: of models and distances; of losses and gaps; of gradients and the deviation of their noise; of
smoothness and strong convexity; of step sizes."""
QUADRATIC = {"hessians": NAMES["curvature"], "centers": NAMES["length"]}
TASKS: dict[str, dict[str, Unit]] = {
    "QuadraticMixture": QUADRATIC,
    "NoisyQuadraticMixture": QUADRATIC | {"covariance": (Fraction(2), Fraction(-2))},
    "RegressionMixture": {
        "optima": NAMES["length"],
        "covariance": NAMES["curvature"],
        "noise": (Fraction(1, 2), Fraction(0)),
    },
}
"""Units of the arguments of each task that can be scaled."""
POWERS, LISTED = [Fraction(n, 2) for n in (-4, -3, -2, -1, 1, 2, 3, 4)], 4
"""Powers of a quantity that are tried for a missing factor, and most products that are listed."""


@dataclass(frozen=True)
class Scaling:
    """Losses times ``value``, models times ``length``, both positive."""

    value: Fraction
    length: Fraction

    def factor(self, unit: Unit) -> Any:
        """Factor of a quantity of this unit, exact for whole powers."""
        bases = zip((self.value, self.length), unit, strict=True)
        first, second = (b ** int(p) if p.denominator == 1 else float(b) ** float(p) for b, p in bases)
        return first * second

    def __mul__(self, other: Scaling) -> Scaling:
        return Scaling(self.value * other.value, self.length * other.length)

    def __pow__(self, power: int) -> Scaling:
        return Scaling(self.value**power, self.length**power)

    def __str__(self) -> str:
        return f"losses times {self.value}, models times {self.length}"

    def encode(self) -> list[str]:
        """Write the two factors."""
        return [str(self.value), str(self.length)]

    @classmethod
    def decode(cls, code: Any) -> Scaling:
        """Read what ``encode`` wrote; InvalidArgument if it is not two positive fractions."""
        try:
            value, length = (Fraction(each) for each in ([] if isinstance(code, str) else code))
        except (TypeError, ValueError, ArithmeticError):
            value = length = Fraction(0)
        if min(value, length) <= 0:
            rule = "must be two positive fractions, of losses and of models"
            raise InvalidArgument("counterexample.scaling", code, rule, "take it from a report")
        return cls(value, length)


def read_units(units: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Unit]:
    """Read the units of quantities, names or powers (alpha, beta); InvalidArgument if one is unknown."""
    found: dict[str, Unit] = {}
    for name, declared in units.items():
        if name not in known:
            rule = f"must declare quantities of the statement, not {name}; they are {', '.join(known)}"
            raise InvalidArgument("units", dict(units), rule, "correct the name")
        try:
            value, length = NAMES[declared] if isinstance(declared, str) else map(Fraction, declared)
        except (KeyError, TypeError, ValueError):
            rule = f"must be {', '.join(NAMES)} or the powers (of value, of length)"
            raise InvalidArgument(f"units[{name!r}]", declared, rule, "see the manual on units") from None
        found[name] = value, length
    return found


def image(units: Mapping[str, Unit], one: Instance, scaling: Scaling) -> dict[str, Any]:
    """Scale an instance: declared quantities by their units, tasks by their types, the others not at all."""
    return {name: _scaled(value, units.get(name), scaling) for name, value in one.items()}


def _scaled(value: Any, unit: Unit | None, scaling: Scaling) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        arguments = TASKS.get(type(value).__name__)
        if arguments is None:
            rule = f"must be about tasks that can be scaled, {', '.join(TASKS)}"
            raise InvalidArgument("units", type(value).__name__, rule, "declare no units for this claim")
        scaled = {name: _scaled(getattr(value, name), each, scaling) for name, each in arguments.items()}
        return dataclasses.replace(value, **scaled)
    if unit is None:
        return value
    if isinstance(value, list | tuple):
        return type(value)(_scaled(each, unit, scaling) for each in value)
    inexact = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype != object)
    return value * (float(scaling.factor(unit)) if inexact else scaling.factor(unit))


def product(factors: Mapping[str, Fraction]) -> str:
    """Write powers of names, such as ``value^1/2 length^-1``."""
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in factors.items() if power)


def in_symbols(unit: Unit, units: Mapping[str, Unit]) -> list[str]:
    """Write a unit in one of the declared quantities, or else in two: the simplest products that have it."""
    for count in (1, 2):
        found = []
        for names in itertools.combinations([name for name, each in units.items() if any(each)], count):
            for powers in itertools.product(POWERS, repeat=count):
                factors = dict(zip(names, powers, strict=True))
                if all(sum(units[n][i] * p for n, p in factors.items()) == unit[i] for i in (0, 1)):
                    found.append((sum(map(abs, powers)), min(powers) < 0, product(factors)))
        if found:
            return [text for *_, text in sorted(found)[:LISTED]]
    return []
