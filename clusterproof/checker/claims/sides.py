"""The search's implementation of the functions that a claim calls, and the two sides of a line."""

from __future__ import annotations

import ast
import linecache
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from clusterproof.checker.claims.rounding import TOLERANCE, floats_of, has_numpy_parts, is_exact, unit_of
from clusterproof.checker.kernel.claim_words import Excluded, Untrue, Words
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.kernel.loops import iterate, known
from clusterproof.checker.kernel.worlds import Point
from clusterproof.common import InvalidArgument, calls
from clusterproof.common.validation import brief, check_number, check_text

Value: TypeAlias = Any
"""A number (int, Fraction, float), or an array of them."""

_LEFT_OUT: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())
_FAILED: ContextVar[list[str] | None] = ContextVar("hypotheses that failed", default=None)


@cache
def _words_of(code: CodeType, instruction: int) -> str:
    """Return the source code of the first argument of a function call."""
    first, last, start, end = list(code.co_positions())[instruction // 2]
    lines = linecache.getlines(code.co_filename)[(first or 1) - 1 : last]
    if not lines or start is None:
        return f"the hypothesis of line {first}"
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    called = ast.parse(b"".join([encoded[0][start:], *encoded[1:]]).decode(), mode="eval").body
    return ast.unparse(called.args[0] if isinstance(called, ast.Call) and called.args else called)


def _are_equal(pairs: tuple[tuple[Value, Value], ...]) -> bool:
    """Return whether the two sides of each pair are equal."""
    return all(
        (left - right).is_zero() if isinstance(left, Point) else bool(np.all(left == right))
        for left, right in pairs
    )


@contextmanager
def with_value(variable: ContextVar[Any], value: Value) -> Iterator[Value]:
    """Set a context variable for the duration of the block, and yield the new value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def recording_failures() -> AbstractContextManager[list[str]]:
    """Collect the names of failing hypotheses, even if the claim's function catches their exceptions."""
    return with_value(_FAILED, [])


def leaving_out(names: frozenset[str]) -> AbstractContextManager[frozenset[str]]:
    """Ignore the named hypotheses, which helps to find hypotheses that contradict each other."""
    return with_value(_LEFT_OUT, names)


@dataclass(frozen=True)
class Sides(Untrue):
    """The inequality measured <= sum of the terms for every entry, or measured >= sum of the terms if ``lower``.

    Attributes
    ----------
    measured
        A number or an array. Only Python integers, fractions and booleans are exact, alone or in arrays of dtype
        object. NumPy integers can overflow.
    terms
        The summands of the bound, indexed by name; they broadcast to the shape of ``measured``.
    failure
        Probability with which the comparison may fail. The first axis of ``measured`` then contains independent
        replicates, and a replicate fails if one of its entries breaks the comparison. The probability is None if the
        comparison must always hold.
    lower
        Whether ``measured`` must be at least the sum.
    identity
        Whether the line is an equation; its single term is then the rounding tolerance.
    rounding
        Largest violation that rounding errors can explain, in the unit of ``measured``. If None, it is 1e-9 times the
        largest magnitude among the sides and the terms; for exact numbers it is 0.
    words
        The sentence for a broken instance, or a function that returns it. If empty, the checker writes its own
        sentence.
    pairs
        One pair (left, right) for each equation, if the line is an equation.
    unit
        Largest magnitude among the floats of the instance. The tolerance is at least 1e-14 times this number, even if
        both sides are small. The unit is None before the statement is evaluated, and ignored if ``rounding`` is given.
    decrease_from
        For a contraction, the quantity before the step, of the same shape as ``measured``; otherwise None.
    """

    measured: Value
    terms: Mapping[str, Value]
    failure: float | None = None
    lower: bool = False
    identity: bool = False
    rounding: float | None = None
    words: str | Callable[[], str] = field(default="", compare=False)
    pairs: tuple[tuple[Value, Value], ...] = field(default=(), compare=False)
    unit: float | None = field(default=None, compare=False)
    decrease_from: Value = field(default=None, compare=False)

    @property
    def allowed(self) -> Value:
        """The sum of the terms."""
        first, *others = self.terms.values()
        return sum(others, start=first)


def with_unit(sides: Sides, instance: Mapping[str, Any]) -> Sides:
    """Store the largest float of the instance in the two sides, if they are computed with floats."""
    if sides.unit is not None or sides.rounding is not None:
        return sides
    if is_exact(sides.measured) and all(is_exact(term) for term in sides.terms.values()):
        return sides
    return replace(sides, unit=unit_of(floats_of(list(instance.values()))))


class Tried(Words[Sides]):
    """The functions that a claim calls during a search; they accept exact numbers, floats and NumPy arrays."""

    def suppose(self, name: Any, holds: Any = None) -> None:  # noqa: D102 - as of Words, set below
        if holds is None and not isinstance(name, str):
            frame = sys._getframe(1)
            while frame.f_back is not None and frame.f_code.co_filename == calls.__file__:
                frame = frame.f_back
            name, holds = _words_of(frame.f_code, frame.f_lasti), name
        try:
            super().suppose(name, holds)
        except Outside as outside:
            if str(outside) in _LEFT_OUT.get():
                return
            if (failed := _FAILED.get()) is not None:
                failed.append(str(outside))
            raise

    suppose.__doc__ = Words.suppose.__doc__

    def given(self, name: Any, holds: Any, make: Callable[[], Sides | Excluded]) -> Sides | Excluded:  # noqa: D102 - as of Words, set below
        function: Any = make  # the user may have passed something that is not a function
        if not callable(function):
            remedy = "write given(name, holds, lambda: at_most(...))"
            raise InvalidArgument("make", brief(make), "must be a function that returns the sides", remedy)
        failed = _FAILED.get()
        before = len(failed or ())
        line = super().given(name, holds, make)
        if failed is not None and type(line) is Excluded:  # `given` catches the last failure on purpose
            del failed[max(before, len(failed) - 1) :]
        return line

    given.__doc__ = Words.given.__doc__

    def facts(self, holds: Any) -> list[Any] | None:
        """Return an empty list if a hypothesis holds, otherwise None.

        The list is empty because only the kernel needs facts about symbols.
        """
        if holds is None or isinstance(holds, str):
            rule = "must be true or false, not a string"
            raise InvalidArgument("holds", holds, rule, 'write suppose("x > 0", x > 0)')
        if isinstance(holds, Sides) and holds.identity:
            holds = _are_equal(holds.pairs)
        if not isinstance(holds, bool):
            array = np.asarray(holds)
            if array.dtype.kind not in "bO" or any(each != each for each in array.flat):
                raise InvalidArgument(
                    "holds", holds, "must be true or false", 'write suppose("x > 0", x > 0)'
                )
        return [] if np.all(holds) else None

    def in_words(self, name: Any) -> str:
        """Return the name of a hypothesis.

        Raises
        ------
        InvalidArgument
            If the name is not a string, or contains characters that cannot be written to a file.
        """
        if not isinstance(name, str):
            rule = "must be the hypothesis in words"
            raise InvalidArgument("name", name, rule, 'write suppose("x > 0", x > 0)')
        check_text("name", name)
        return name

    def know(self, facts: list[Any]) -> None:
        """Do nothing: during a search, a hypothesis has no effect on later comparisons."""

    def alone(self, facts: list[Any], make: Callable[[], Sides | Excluded]) -> Sides | Excluded:
        """Return the line that ``make`` returns."""
        return make()

    def is_less(self, left: Any, right: Any) -> Any:
        """Return whether one number is less than another."""
        return left < right

    def compared(self, sign: str, measured: Any, terms: Mapping[str, Any], **how: Any) -> Sides:
        """Return the two sides of an inequality.

        Raises
        ------
        InvalidArgument
            If a side is an empty array, is not real, or has single precision while ``rounding`` is not given; if
            ``failure`` is not a probability; if ``rounding`` is negative or infinite; or if ``words`` is neither a
            string nor a function.
        """
        check_words(how["words"])
        if how["failure"] is not None:
            remedy = 'add suppose("0 <= p <= 1", 0 <= p <= 1) with your quantity in place of p'
            check_number("failure", how["failure"], at_least=0, at_most=1, remedy=remedy)
        check_text("name", *terms)
        filled = {name: _filled(**{name: value}) for name, value in terms.items()}
        sides = Sides(_filled(measured=measured), filled, lower=sign == ">=", **how)
        _check_rounding(how["rounding"], [measured, *terms.values()])
        return sides

    def equated(self, pairs: Sequence[Any], **how: Any) -> Sides:
        """Return the two sides of an equation; errors are raised as in ``compared``."""
        check_words(how["words"])
        if any(isinstance(side, Point) for pair in pairs for side in pair):
            gaps = [left - right for left, right in pairs]
            return Sides(gaps, {"rounding": 0}, identity=True, pairs=tuple(pairs), unit=0.0)
        gaps = [
            _without_wrapping(_filled(left=left)) - _without_wrapping(_filled(right=right))
            for left, right in pairs
        ]
        rounding = how["rounding"]
        _check_rounding(rounding, [side for pair in pairs for side in pair])
        unit = None if rounding is None else 0.0
        if rounding is None:
            floats = [side for pair in pairs for side in pair if not is_exact(side)]
            rounding = TOLERANCE * unit_of(side for pair in pairs for side in pair) if floats else 0
        return Sides(
            gaps, {"rounding": rounding}, identity=True, words=how["words"], pairs=tuple(pairs), unit=unit
        )

    def refused(self, argument: str, value: Any, rule: str, remedy: str) -> InvalidArgument:
        """Return the exception for an invalid call."""
        return InvalidArgument(argument, brief(value), rule, remedy)


TRIED = Tried()
suppose, given, least = TRIED.suppose, TRIED.given, TRIED.least
at_most, at_least, equal = TRIED.at_most, TRIED.at_least, TRIED.equal
WORDS = {
    **{"suppose": suppose, "given": given, "at_most": at_most, "at_least": at_least, "equal": equal},
    **{"least": least, "iterate": iterate, "known": known},
}
"""The functions that a claim calls, indexed by name. They are stored before a user's file can replace them."""


def check_words(words: Any) -> None:
    """Raise ``InvalidArgument`` unless the option ``words`` is a string, a function, or None for no words."""
    if not isinstance(words, str | None) and not callable(words):
        rule, remedy = (
            "must be a sentence or a function that returns one",
            'write words="..." or leave it out',
        )
        raise InvalidArgument("words", brief(words), rule, remedy)


def _without_wrapping(side: Value) -> Value:
    """Convert NumPy integers to floats, because their difference may overflow."""
    return side * 1.0 if getattr(_kind(side), "kind", "") in ("i", "u") else side


def _filled(**sides: Value) -> Value:
    """Return a side after checks: it must be real and nonempty, because every comparison of empty arrays holds."""
    ((name, value),) = sides.items()
    if isinstance(value, list | tuple):
        value = _as_array(name, value)
    if isinstance(value, np.ndarray) and value.size == 0:
        raise InvalidArgument(
            name, np.shape(value), "must not be an empty array", "suppose that the array is not empty"
        )
    if isinstance(value, np.ma.MaskedArray):
        remedy = "give value.compressed(), or value.filled(...) with a number that the statement names"
        raise InvalidArgument(name, "a masked array", "must have a number at every entry", remedy)
    if has_numpy_parts(value):
        rule, remedy = (
            "must be fractions of Python's integers: NumPy's wrap around",
            "write Fraction(int(...), ...)",
        )
        raise InvalidArgument(name, "fractions of NumPy's integers", rule, remedy)
    if value is None or isinstance(value, str | complex) or getattr(_kind(value), "kind", "") == "c":
        raise InvalidArgument(
            name, value, "must be real numbers", "write .real or abs(...) for complex numbers"
        )
    return value


def _as_array(name: str, value: list[Any] | tuple[Any, ...]) -> np.ndarray:
    """Convert a list to an array without rounding exact numbers; the sum of two lists would concatenate them."""
    with suppress(ValueError):
        array = np.array(value, dtype=object if is_exact(value) else None)
        if not any(isinstance(each, list | tuple) for each in array.flat):
            return array
    raise InvalidArgument(name, value, "must have rows of equal length", "give an array")


def _kind(value: Value) -> Any:
    """Return the dtype of an array or NumPy number, or None for other values."""
    return getattr(value, "dtype", None)


def _check_rounding(rounding: float | None, sides: list[Value]) -> None:
    """Reject an invalid tolerance, and sides in single precision if no tolerance is given."""
    if rounding is not None and not 0 <= rounding < math.inf:
        remedy = "give the largest difference that rounding explains, or leave it out"
        raise InvalidArgument("rounding", rounding, "must be a finite number, at least 0", remedy)
    single = [side for side in sides if str(_kind(side)).endswith(("float16", "float32"))]
    if rounding is None and single:
        rule = "must be in double precision unless rounding= is given"
        raise InvalidArgument("dtype", str(_kind(single[0])), rule, "compute in float64, or give rounding=")
