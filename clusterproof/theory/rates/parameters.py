"""The parameters of the cluster dynamics, in fractions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from clusterproof.common import InvalidArgument

MAX_DIGITS = 30
"""Largest number of digits in the numerator or denominator of a parameter."""

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_FRACTION = re.compile(r"[+-]?\d+/\d+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of heavy ball for one cluster, x_(t+1) = x_t - (S l / L) grad phi(x_t) + beta (x_t - x_(t-1)).

    Attributes
    ----------
    momentum
        beta in [0, 1).
    condition_number
        kappa = L / mu >= 1.
    proportion
        The cluster's share of the clients, l in (0, 1].
    step_size
        S = eta L > 0, that is, step size times smoothness.
    """

    momentum: Fraction
    condition_number: Fraction
    proportion: Fraction
    step_size: Fraction

    def __post_init__(self) -> None:
        rules = {
            "momentum": (0 <= self.momentum < 1, "must be at least 0 and below 1", "choose 0, 0.5 or 0.9"),
            "condition_number": (self.condition_number >= 1, "must be at least 1", "give L / mu"),
            "proportion": (
                0 < self.proportion <= 1,
                "must be greater than 0 and at most 1",
                "give the share of the clients that are in the cluster",
            ),
            "step_size": (
                self.step_size > 0,
                "must be greater than 0",
                "give the step size times L, such as 1",
            ),
        }
        for name, (holds, rule, remedy) in rules.items():
            value = getattr(self, name)
            if not holds:
                raise InvalidArgument(name, float(value), rule, remedy)
            if max(abs(value.numerator), value.denominator) >= 10**MAX_DIGITS:
                raise InvalidArgument(name, str(value), f"must have at most {MAX_DIGITS} digits", "round it")

    @property
    def smallest(self) -> Fraction:
        """The smallest value of a = step * eigenvalue, which is S l / kappa."""
        return self.largest / self.condition_number

    @property
    def largest(self) -> Fraction:
        """The largest value of a = step * eigenvalue, which is S l."""
        return self.step_size * self.proportion

    @property
    def normalised(self) -> tuple[Fraction, Fraction, Fraction]:
        """The values of beta, 1 / kappa and S l, on which the rate depends."""
        return self.momentum, 1 / self.condition_number, self.largest


def exact(argument: str, value: object) -> Fraction:
    """Convert a number to a fraction that equals its decimal representation.

    Parameters
    ----------
    argument
        Name of the argument, for the error message.
    value
        An integer, a fraction, a float, or a string such as ``"0.1"`` or ``"1/3"``. A float is replaced by its
        shortest decimal representation, so 0.1 becomes 1/10.

    Raises
    ------
    InvalidArgument
        If the value is not a finite number, or has too many digits.
    """
    remedy = "write a decimal such as 0.5 or a fraction such as 1/3"
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, bool) or not hasattr(value, "__float__"):
        raise InvalidArgument(argument, value, "must be a finite number", remedy)
    elif hasattr(value, "__index__"):
        return Fraction(int(value))
    else:
        text = repr(float(value))
    if len(text) > 2 * MAX_DIGITS or not (_DECIMAL.fullmatch(text) or _FRACTION.fullmatch(text)):
        raise InvalidArgument(
            argument, value, f"must be a finite number of at most {MAX_DIGITS} digits", remedy
        )
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise InvalidArgument(argument, value, "must not have the denominator 0", remedy) from error


def round_up(value: Fraction | float, digits: int) -> Fraction:
    """Round a number up to a multiple of 10^-digits."""
    scale = 10**digits
    return Fraction(math.ceil(Fraction(value) * scale), scale)


def root_above(square: Fraction, digits: int) -> Fraction:
    """Return the smallest multiple of 10^-digits whose square is at least the given number."""
    scale = 10**digits
    root = math.isqrt(math.floor(square * scale**2))
    return Fraction(root if Fraction(root**2, scale**2) >= square else root + 1, scale)
