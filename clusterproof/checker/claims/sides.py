"""What a claim's function says on an instance: the hypotheses, and the two sides to be compared."""

from __future__ import annotations

import ast
import linecache
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from clusterproof.checker.claims.rounding import TOLERANCE, floats_of, has_numpy_parts, is_exact, unit_of
from clusterproof.checker.kernel.worlds import Point
from clusterproof.common import InvalidArgument, calls
from clusterproof.common.validation import brief, check_number

Value: TypeAlias = Any
"""A number (int, Fraction, float), or an array of them."""

_LEFT_OUT: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())
_FAILED: ContextVar[list[str] | None] = ContextVar("hypotheses that failed", default=None)


class Outside(Exception):
    """The instance does not meet the hypothesis that the message names."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._failed = _FAILED.get()
        if self._failed is not None:
            self._failed.append(name)

    def forgive(self) -> None:
        """Take it out of the record of hypotheses that failed: it was meant to be caught."""
        if self._failed is not None:
            self._failed.remove(str(self))


def suppose(name: Any, holds: Any = None) -> None:
    """State a hypothesis; the statement does not apply to instances that do not meet it.

    Parameters
    ----------
    name
        The hypothesis in the paper's words; quoted in errors of a replay and in vacuous verdicts. Without it, as in
        ``suppose(n > 1)``, the words are those of the code.
    holds
        Whether the instance meets it; ``equal((left, right))`` for points of functions of a class.

    Raises
    ------
    Outside
        If the instance does not meet the hypothesis.
    InvalidArgument
        If the name is no text, or ``holds`` is neither a truth value nor an array of them.
    """
    if holds is None and not isinstance(name, str):
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == calls.__file__:
            frame = frame.f_back
        name, holds = _words_of(frame.f_code, frame.f_lasti), name
    if not isinstance(name, str):
        raise InvalidArgument(
            "name", name, "must be the hypothesis in words", 'write suppose("x > 0", x > 0)'
        )
    if holds is None:
        rule = "is missing in the call of suppose"
        raise InvalidArgument("holds", None, rule, f"write suppose({name!r}, ...), with whether it holds")
    if isinstance(holds, str):
        raise InvalidArgument(
            "holds", holds, "must be true or false, not a text", 'write suppose("x > 0", x > 0)'
        )
    if isinstance(holds, Sides) and holds.identity:
        holds = _are_equal(holds.pairs)
    if not isinstance(holds, bool):
        array = np.asarray(holds)
        if array.dtype.kind not in "bO" or any(each != each for each in array.flat):
            raise InvalidArgument("holds", holds, "must be true or false", 'write suppose("x > 0", x > 0)')
    if not (name in _LEFT_OUT.get() or np.all(holds)):
        raise Outside(name)


@cache
def _words_of(code: CodeType, instruction: int) -> str:
    """Return the first argument of a call as it is written in the code."""
    first, last, start, end = list(code.co_positions())[instruction // 2]
    lines = linecache.getlines(code.co_filename)[(first or 1) - 1 : last]
    if not lines or start is None:
        return f"the hypothesis of line {first}"
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    called = ast.parse(b"".join([encoded[0][start:], *encoded[1:]]).decode(), mode="eval").body
    return ast.unparse(called.args[0] if isinstance(called, ast.Call) and called.args else called)


def _are_equal(pairs: tuple[tuple[Value, Value], ...]) -> bool:
    """Return whether both sides are equal, of each pair."""
    return all(
        (left - right).is_zero() if isinstance(left, Point) else bool(np.all(left == right))
        for left, right in pairs
    )


def no_truth(what: str) -> InvalidArgument:
    """Return what is raised where a line is taken for true or false: whether it holds is what is to be decided."""
    return InvalidArgument(
        "line", what, "is neither true nor false", "compare its quantities: if left <= right"
    )


@dataclass(frozen=True)
class Excluded:
    """A line that cannot be evaluated on the instance: the hypothesis fails that this line alone has."""

    hypothesis: str

    def __bool__(self) -> bool:
        """Refuse: whether a line is stated is not asked by the claim that states it."""
        raise no_truth("given(...)")


def given(name: str, holds: Any, make: Callable[[], Sides]) -> Sides | Excluded:
    """State a line of which a hypothesis is asked that the other lines do without.

    Parameters
    ----------
    name
        The hypothesis in the paper's words.
    holds
        Whether the instance meets it, as for ``suppose``.
    make
        Returns the line's sides; called only if it does.
    """
    function: Any = make  # as a user gives it
    if not callable(function):
        remedy = "write given(name, holds, lambda: at_most(...))"
        raise InvalidArgument("make", brief(make), "must be a function that returns the sides", remedy)
    try:
        with leaving_out(frozenset()):
            suppose(name, holds)
    except Outside as outside:
        outside.forgive()
        return Excluded(name)
    try:
        return make()
    except Outside as outside:  # a hypothesis that is written in the line is asked of this line alone
        outside.forgive()
        return Excluded(str(outside))


@contextmanager
def with_value(variable: ContextVar[Any], value: Value) -> Iterator[Value]:
    """Give a context variable a value, which is returned."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def recording_failures() -> AbstractContextManager[list[str]]:
    """Collect the hypotheses that fail, whatever the function catches."""
    return with_value(_FAILED, [])


def leaving_out(names: frozenset[str]) -> AbstractContextManager[frozenset[str]]:
    """Ignore some hypotheses in the evaluation, to find which of them contradict each other."""
    return with_value(_LEFT_OUT, names)


@dataclass(frozen=True)
class Sides:
    """Measured at most (or, where ``lower``, at least) the sum of the terms, entry by entry.

    Attributes
    ----------
    measured
        A number or an array. Only Python's integers, fractions and booleans are exact, also in arrays of dtype object;
        NumPy's integers can overflow.
    terms
        What is allowed, as named summands that broadcast against ``measured``.
    failure
        Probability with which the comparison may fail; the first axis of ``measured`` then counts
        independent replicates, and one with a broken entry fails. None for a sure statement.
    lower
        Whether measured must be at least the sum.
    identity
        Whether this is an equation, whose single term is the rounding error.
    rounding
        Largest excess that rounding explains, in the unit of ``measured``. Where None it is 1e-9 of the largest
        magnitude among both sides and the terms, and 0 for exact numbers.
    words
        The sentence for a broken instance, or what makes it; the checker's own where it is empty.
    pairs
        (left, right) of each equation of an identity.
    unit
        Largest magnitude among the floats of the instance, of which 1e-14 is rounding whatever the sides are; None
        until the statement is evaluated. Without effect where ``rounding`` is given.
    decrease_from
        Of a contraction the quantity before it, of the shape of ``measured``; None of other comparisons.
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

    def __bool__(self) -> bool:
        """Refuse: whether a line holds is not asked by the claim that states it."""
        raise no_truth("at_most(...)")

    @property
    def allowed(self) -> Value:
        """Sum of the terms."""
        first, *others = self.terms.values()
        return sum(others, start=first)


def with_unit(sides: Sides, instance: Mapping[str, Any]) -> Sides:
    """Give sides that are floats the magnitude of the instance that they were computed from."""
    if sides.unit is not None or sides.rounding is not None:
        return sides
    if is_exact(sides.measured) and all(is_exact(term) for term in sides.terms.values()):
        return sides
    return replace(sides, unit=unit_of(floats_of(list(instance.values()))))


def at_most(
    measured: Value,
    *allowed: Value,
    failure: float | None = None,
    rounding: float | None = None,
    words: str | Callable[[], str] = "",
    decrease_from: Value = None,
    **terms: Value,
) -> Sides:
    """Conclude that measured <= the sum of the terms (with probability >= 1 - failure).

    Parameters
    ----------
    measured
        A number or an array, every entry of which is compared; with ``failure`` its first axis counts
        independent replicates.
    failure, rounding, words
        As in ``Sides``.
    decrease_from
        Of a contraction the quantity before it. The tightness is then also that of the decrease: a rate h allows
        (1 - h) times that quantity, which tells .99 from .98.
    allowed, terms
        What is allowed, at least one summand: a number without a name, named summands, or both.

    Raises
    ------
    InvalidArgument
        If a side is an empty array or no real number, or in single precision without ``rounding``; there is no
        summand; or ``failure`` is no probability, or ``rounding`` negative or infinite.
    """
    if failure is not None:
        check_number("failure", failure, at_least=0, at_most=1, remedy="suppose that it is a probability")
    if len(allowed) > 1 or (allowed and "bound" in terms):
        remedy = "name the summands, as in at_most(error, contraction=..., noise=...)"
        raise InvalidArgument("allowed", brief(allowed), "must be the only summand without a name", remedy)
    terms = dict(zip(("bound",), allowed, strict=False)) | terms
    sides = Sides(
        _filled(measured=measured),
        _named(terms),
        failure,
        rounding=rounding,
        words=words,
        decrease_from=decrease_from,
    )
    _check_rounding(rounding, [measured, *terms.values()])
    return sides


def at_least(
    measured: Value,
    *allowed: Value,
    failure: float | None = None,
    rounding: float | None = None,
    words: str | Callable[[], str] = "",
    **terms: Value,
) -> Sides:
    """Conclude that measured >= the sum of the terms; parameters as for ``at_most``."""
    stated = at_most(measured, *allowed, failure=failure, rounding=rounding, words=words, **terms)
    return replace(stated, lower=True)


def equal(
    *pairs: tuple[Value, Value], rounding: float | None = None, words: str | Callable[[], str] = ""
) -> Sides:
    """Conclude that left = right for every pair of numbers or arrays.

    Parameters
    ----------
    pairs
        (left, right).
    rounding
        Largest difference that rounding explains. Where None it is 1e-9 of the largest magnitude among the sides, and
        0 for exact numbers.
    words
        As in ``Sides``.

    Raises
    ------
    InvalidArgument
        If there is no pair, a side is an empty array or no real number, or in single precision without ``rounding``,
        or ``rounding`` is negative or infinite.
    """
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        remedy = "write equal((left, right)), or several of them"
        raise InvalidArgument("pairs", brief(pairs), "must hold one (left, right) or more", remedy)
    if any(isinstance(side, Point) for pair in pairs for side in pair):
        return Sides(
            [left - right for left, right in pairs], {"rounding": 0}, identity=True, pairs=pairs, unit=0.0
        )
    gaps = [
        _without_wrapping(_filled(left=left)) - _without_wrapping(_filled(right=right))
        for left, right in pairs
    ]
    _check_rounding(rounding, [side for pair in pairs for side in pair])
    unit = None if rounding is None else 0.0
    if rounding is None:
        floats = [side for pair in pairs for side in pair if not is_exact(side)]
        rounding = TOLERANCE * unit_of(side for pair in pairs for side in pair) if floats else 0
    return Sides(gaps, {"rounding": rounding}, identity=True, words=words, pairs=pairs, unit=unit)


def _without_wrapping(side: Value) -> Value:
    """Return floats in the place of NumPy's integers, whose difference may wrap around."""
    return side * 1.0 if getattr(_kind(side), "kind", "") in ("i", "u") else side


def _named(terms: dict[str, Value]) -> dict[str, Value]:
    if not terms:
        raise InvalidArgument("terms", terms, "must hold at least one summand", "name what is allowed")
    return {name: _filled(**{name: value}) for name, value in terms.items()}


def _filled(**sides: Value) -> Value:
    """Return a side, and refuse one that is no real number or an empty array: of no numbers everything holds."""
    ((name, value),) = sides.items()
    if isinstance(value, list | tuple):
        value = _as_array(name, value)
    if isinstance(value, np.ndarray) and value.size == 0:
        raise InvalidArgument(
            name, np.shape(value), "must not be an empty array", "suppose that there is something to compare"
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
        raise InvalidArgument(name, value, "must be real numbers", "take .real or abs(...) of complex ones")
    return value


def _as_array(name: str, value: list[Any] | tuple[Any, ...]) -> np.ndarray:
    """Return the numbers of a list, which keep their type if they are exact; the sum of lists would join them."""
    with suppress(ValueError):
        array = np.array(value, dtype=object if is_exact(value) else None)
        if not any(isinstance(each, list | tuple) for each in array.flat):
            return array
    raise InvalidArgument(name, value, "must have rows of equal length", "give an array")


def _kind(value: Value) -> Any:
    """Type of the entries of an array, or of one of NumPy's numbers; None of others."""
    return getattr(value, "dtype", None)


def _check_rounding(rounding: float | None, sides: list[Value]) -> None:
    """Refuse a tolerance that is none, and sides whose rounding is not known to be that of double precision."""
    if rounding is not None and not 0 <= rounding < math.inf:
        remedy = "give the largest difference that rounding explains, or leave it out"
        raise InvalidArgument("rounding", rounding, "must be a finite number, at least 0", remedy)
    single = [side for side in sides if str(_kind(side)).endswith(("float16", "float32"))]
    if rounding is None and single:
        rule = "must be in double precision where rounding= is left out"
        raise InvalidArgument("dtype", str(_kind(single[0])), rule, "compute in float64, or give rounding=")
