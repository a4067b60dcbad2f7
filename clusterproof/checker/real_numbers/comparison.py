"""Decide whether an instance breaks a line over the real numbers, with increasing precision until it is certain."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from typing import Any

import flint

from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.real_numbers.counterparts import Counterparts
from clusterproof.checker.real_numbers.interval import NoValue, Undecided, ball_of
from clusterproof.checker.real_numbers.operators import FUEL, NUMBERS, OutOfFuel, fuel, plain
from clusterproof.checker.real_numbers.sides import Sides, compared

PRECISIONS = (128, 512, 2048)
"""Precisions to try, in bits, in this order."""
UNKNOWN = "has no rigorous value"
"""Message for a function without an exact or interval replacement."""
OF_LINE = "the hypothesis of this line"
"""Placeholder for the hypothesis of ``given`` if only one line does not apply to an instance."""
DIGITS = 5
"""Number of significant digits with which a side is printed."""


@dataclass(frozen=True)
class Answer:
    """The result for one line at one instance over the real numbers.

    Attributes
    ----------
    broken
        Whether the instance breaks the line, or None if this is undecided.
    why
        The reason why the line is undecided, or an empty string if it is decided.
    again
        Whether a higher precision may decide the line.
    outside
        The hypothesis that the instance breaks, or an empty string if it meets all hypotheses.
    measured, allowed
        The floats nearest to the two sides, at the entry that exceeds the bound most or comes closest to the bound.
    terms, place
        The floats nearest to the summands of the bound, and the index of the entry.
    equation
        Whether the line is an equation.
    words, gap
        ``words``: the two sides as a string, if one side is larger than any float. ``gap``: the difference as a string,
        if both sides round to the same float.
    """

    broken: bool | None
    why: str = ""
    again: bool = False
    outside: str = ""
    measured: float = math.nan
    allowed: float = math.nan
    terms: Mapping[str, float] = field(default_factory=dict)
    place: tuple[int, ...] = ()
    equation: bool = False
    words: str = ""
    gap: str = ""


@cache
def counterparts_at(bits: int) -> Counterparts:
    """Return the replacements for a precision of ``bits`` bits."""
    return Counterparts()


def over_the_reals(
    statement: Statement, instance: Instance, exact: Mapping[str, bool] | None = None
) -> dict[str, Answer]:
    """Evaluate lines at an instance with real numbers.

    Parameters
    ----------
    statement, instance
        The statement and the instance.
    exact
        Dictionary whose keys are the names of the lines to decide. The value is true if the sides of the line are exact
        numbers, which are compared without a rounding tolerance. None stands for all lines, with a tolerance.

    Returns
    -------
    dict
        The answer for each line. If the names of the lines are unknown, the dictionary contains one answer, under the
        empty name.
    """
    answers: dict[str, Answer] = {}
    for bits in PRECISIONS:
        with _precision(bits):
            answer = _try(statement, partial(_lines, statement, instance, bits), bits)
            lines = {} if isinstance(answer, Answer) else answer
            asked = dict.fromkeys(lines or [""], False) if exact is None else exact
            for name in asked:
                if name not in answers or answers[name].again:
                    one = partial(_answer, lines, name, exact=asked[name])
                    found = answer if isinstance(answer, Answer) else _try(statement, one, bits)
                    assert isinstance(found, Answer)
                    answers[name] = found
        if not any(each.again for each in answers.values()):
            break
    return answers


def _try(statement: Statement, evaluate: Callable[[], Any], bits: int) -> Any:
    """Return the result of an evaluation, or an answer that explains why the evaluation fails."""
    try:
        return evaluate()
    except Undecided as undecided:
        return Answer(
            None, f"{undecided} is not decided with {bits} bits{_place(undecided, statement)}", again=True
        )
    except NoValue as unknown:
        return Answer(None, f"{unknown} {UNKNOWN}{_place(unknown, statement)}")
    except OutOfFuel:
        return Answer(None, f"over the real numbers it takes more than {FUEL} steps")
    except Outside as outside:
        return Answer(False, outside=str(outside))
    except Exception as error:  # an error in the rewritten function decides nothing
        return Answer(
            None, f"over the real numbers: {type(error).__name__}: {error}{_place(error, statement)}"
        )


def steps_taken() -> int:
    """Return the number of operations in the last evaluation with real numbers."""
    return FUEL - fuel.left


class _precision:  # noqa: N801 - a context
    """Context that sets the precision of all intervals, and the limit on operations in one evaluation."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        self.before, flint.ctx.prec, fuel.left = flint.ctx.prec, self.bits, FUEL

    def __exit__(self, *_error: object) -> None:
        flint.ctx.prec = self.before


def _lines(statement: Statement, instance: Instance, bits: int) -> Mapping[str, Any]:
    counterparts = counterparts_at(bits)
    function = counterparts.of(statement.function, {}, "the function")
    arguments = {
        name: counterparts.real(value, name, chosen=True)
        for name, value in statement.space.arguments(instance).items()
    }
    compared.sign = ""
    value = function(**arguments)
    return value if isinstance(value, Mapping) else {"": value}


def _answer(lines: Mapping[str, Any], line: str, *, exact: bool) -> Answer:
    sides = lines[line]
    if isinstance(sides, Excluded):
        return Answer(False, outside=OF_LINE)
    if not isinstance(sides, Sides):
        return Answer(None, "it returns no comparison")
    broken, pair = sides.worst(exact=exact)
    measured, allowed = map(nearest_float, (pair.left, pair.right))
    terms = {name: nearest_float(each) for name, each in pair.terms.items()}
    sign = "<" if sides.sign == ">=" else ">" if sides.sign == "<=" else "!="
    balls = [ball_of(plain(each)) for each in (pair.left, pair.right)]
    texts = [each.str(DIGITS, radius=False) for each in balls]
    is_infinite = not (math.isfinite(measured) and math.isfinite(allowed))
    is_same = measured == allowed and (not is_infinite or texts[0] == texts[1])
    return Answer(
        broken,
        measured=measured,
        allowed=allowed,
        terms=terms,
        place=pair.place,
        equation=sign == "!=",
        words=f" {sign} ".join(texts) if broken and is_infinite else "",
        gap=f", by {abs(balls[0] - balls[1]).str(2, radius=False)}" if broken and is_same else "",
    )


def nearest_float(number: Any) -> float:
    """Return the float nearest to the midpoint of an interval; it is infinite if the midpoint is too large."""
    try:
        return float(number) if type(number) is Fraction else float(ball_of(plain(number)).mid())
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _place(error: BaseException, statement: Statement) -> str:
    file = statement.function.__code__.co_filename
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return f" (line {lines[-1]})" if lines else ""


def missed(statement: Statement, instance: Instance) -> tuple[str, Any, Any] | None:
    """Return the sign and the two numbers of the first false comparison in the hypotheses at an instance.

    The result is None if the instance meets all hypotheses, or if the comparison is unknown.
    """
    with _precision(PRECISIONS[0]):
        answer = _try(statement, partial(_lines, statement, instance, PRECISIONS[0]), PRECISIONS[0])
    if not isinstance(answer, Answer) or not answer.outside or not compared.sign:
        return None
    kinds = {type(compared.left), type(compared.right)}
    return (compared.sign, compared.left, compared.right) if kinds <= set(NUMBERS) else None
