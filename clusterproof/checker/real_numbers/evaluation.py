"""Whether an instance breaks a line over the real numbers: with more bits until the comparison is certain."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import flint

from clusterproof.checker.real_numbers.counterparts import Counterparts
from clusterproof.checker.real_numbers.interval import Interval, NoValue, Undecided, ball_of
from clusterproof.checker.real_numbers.operators import FUEL, OutOfFuel, fuel, plain
from clusterproof.checker.real_numbers.sides import Sides, equations
from clusterproof.theory.claims.ranges import Instance
from clusterproof.theory.claims.sides import Outside
from clusterproof.theory.claims.statement import Statement

PRECISIONS = (128, 512, 2048)
"""Bits that are tried in turn."""
DIGITS = 5
"""Significant digits of a side that is printed."""


@dataclass(frozen=True)
class Answer:
    """What the real numbers say of one line at one instance.

    Attributes
    ----------
    broken
        Whether the line is broken; None if that is not known.
    why
        If so, why.
    outside
        The hypothesis that the instance does not meet; empty if it meets all.
    measured, allowed
        The floats nearest to the two sides that break it.
    words
        These sides as they are printed.
    """

    broken: bool | None
    why: str = ""
    outside: str = ""
    measured: float = math.nan
    allowed: float = math.nan
    words: str = ""


@cache
def counterparts_at(bits: int) -> Counterparts:
    """Return what stands for live values at a precision."""
    return Counterparts()


def over_the_reals(statement: Statement, instance: Instance, line: str, *, exact: bool) -> Answer:
    """Evaluate a line at an instance over the real numbers.

    Parameters
    ----------
    statement, instance, line
        What is evaluated; the line's name is empty for a single one.
    exact
        Whether its sides are exact numbers, of which rounding explains nothing.
    """
    if statement.random:
        return Answer(None, "the function draws random numbers")
    why = ""
    for bits in PRECISIONS:
        try:
            with _precision(bits):
                return _answer(_lines(statement, instance, bits), line, exact=exact)
        except Undecided as undecided:
            why = f"{undecided} is not decided with {bits} bits{_place(undecided, statement)}"
        except NoValue as unknown:
            return Answer(None, f"{unknown} has no rigorous value{_place(unknown, statement)}")
        except OutOfFuel:
            return Answer(None, f"over the real numbers it takes more than {FUEL} steps")
        except Outside as outside:
            return Answer(False, outside=str(outside))
        except Exception as error:  # what Python makes of other numbers is no answer
            return Answer(None, f"over the real numbers: {type(error).__name__}: {error}{_place(error, statement)}")
    return Answer(None, why)


class _precision:  # noqa: N801 - a context
    """The bits of all intervals, and the steps of one evaluation."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        self.before, flint.ctx.prec, fuel.left = flint.ctx.prec, self.bits, FUEL

    def __exit__(self, *_error: object) -> None:
        flint.ctx.prec = self.before


def _lines(statement: Statement, instance: Instance, bits: int) -> Mapping[str, Any]:
    counterparts = counterparts_at(bits)
    function = counterparts.of(statement.function, {}, "the function")
    arguments = {name: counterparts.real(value, name) for name, value in statement.space.arguments(instance).items()}
    equations.last = None
    value = function(**arguments)
    return value if isinstance(value, Mapping) else {"": value}


def _answer(lines: Mapping[str, Any], line: str, *, exact: bool) -> Answer:
    sides = lines[line]
    if sides is None:
        return Answer(False, outside="the hypothesis of this line")
    if not isinstance(sides, Sides):
        return Answer(None, "it returns no comparison")
    found = sides.broken(exact=exact)
    if found is None:
        return Answer(False)
    measured, allowed = map(nearest_float, found)
    sign = "<" if sides.sign == ">=" else ">" if sides.sign == "<=" else "is not"
    return Answer(True, measured=measured, allowed=allowed, words=_written(*found, sign))


def nearest_float(number: Any) -> float:
    """Return the float nearest to the middle of a number's interval, infinite if it is too large."""
    try:
        return float(number) if type(number) is Fraction else float(ball_of(plain(number)).mid())
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _written(measured: Any, allowed: Any, sign: str) -> str:
    """Write two sides with as many digits as tell them apart, or with their difference."""
    balls = [ball_of(plain(each)) for each in (measured, allowed)]
    for digits in (DIGITS, 9, 17):
        first, second = (each.str(digits, radius=False) for each in balls)
        if first != second:
            return f"{first} {sign} {second}"
    return f"{first} {sign} {second}, by {abs(balls[0] - balls[1]).str(2, radius=False)}"


def _place(error: BaseException, statement: Statement) -> str:
    file = statement.function.__code__.co_filename
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f" (line {lines[-1]})" if lines else ""


def residual(statement: Statement, instance: Instance) -> Fraction | None:
    """Return left minus right of the first equation among the hypotheses that an instance does not meet.

    None if there is none, or it is not known in fractions.
    """
    try:
        with _precision(PRECISIONS[0]):
            _lines(statement, instance, PRECISIONS[0])
    except Outside:
        return _gap()
    except (NoValue, Undecided, OutOfFuel, Exception):
        pass
    return None


def _gap() -> Fraction | None:
    if equations.last is None:
        return None
    left, right = equations.last
    numbers = (int, bool, Fraction)
    return Fraction(left) - Fraction(right) if type(left) in numbers and type(right) in numbers else None
