"""What a statement says of an instance: hypotheses that it meets, and two sides to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.statement.symbols import Condition

Value: TypeAlias = Any
"""A number (int, Fraction, float), an array of them, or a symbol of a proof."""

_LEFT_OUT: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())


class Outside(Exception):
    """The instance does not meet the hypothesis that the message names."""


def suppose(name: str, holds: Any) -> None:
    """State a hypothesis; an instance that does not meet it is none of the statement's.

    Parameters
    ----------
    name
        The hypothesis as the paper words it; what a refused replay and a vacuous verdict quote.
    holds
        Whether the instance meets it. A comparison of symbols passes: a proof shows the conclusion
        without it.

    Raises
    ------
    Outside
        If it does not.
    """
    if isinstance(holds, Condition) or name in _LEFT_OUT.get():
        return
    if not bool(holds):
        raise Outside(name)


@contextmanager
def leaving_out(names: frozenset[str]) -> Iterator[None]:
    """Evaluate without some hypotheses, to find which of them exclude each other."""
    token = _LEFT_OUT.set(names)
    try:
        yield
    finally:
        _LEFT_OUT.reset(token)


@dataclass(frozen=True)
class Sides:
    """Measured at most (or, where ``lower``, at least) the sum of the terms, entry by entry.

    Attributes
    ----------
    measured
        A number or an array.
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
        Absolute error of computing the sides, in the unit of ``measured``, beyond the relative one that
        floating numbers get in any case.
    words
        The sentence for a broken instance, or what makes it; the machine's own where it is empty.
    """

    measured: Value
    terms: Mapping[str, Value]
    failure: float | None = None
    lower: bool = False
    identity: bool = False
    rounding: float = 0.0
    words: str | Callable[[], str] = field(default="", compare=False)

    @property
    def allowed(self) -> Value:
        """Sum of the terms."""
        first, *others = self.terms.values()
        return sum(others, start=first)


def at_most(
    measured: Value,
    *,
    failure: float | None = None,
    rounding: float = 0.0,
    words: str | Callable[[], str] = "",
    **terms: Value,
) -> Sides:
    """Conclude that measured <= the sum of the named terms (with probability >= 1 - failure).

    Parameters
    ----------
    measured
        A number or an array, every entry of which is compared; with ``failure`` its first axis counts
        independent replicates.
    failure, rounding, words
        As in ``Sides``.
    terms
        What is allowed, at least one summand.
    """
    return Sides(measured, _named(terms), failure, rounding=rounding, words=words)


def at_least(
    measured: Value,
    *,
    failure: float | None = None,
    rounding: float = 0.0,
    words: str | Callable[[], str] = "",
    **terms: Value,
) -> Sides:
    """Conclude that measured >= the sum of the named terms; parameters as for ``at_most``."""
    return Sides(measured, _named(terms), failure, lower=True, rounding=rounding, words=words)


def equal(*pairs: tuple[Value, Value], rounding: float = 0.0, words: str | Callable[[], str] = "") -> Sides:
    """Conclude that left = right for every pair of numbers or arrays.

    Parameters
    ----------
    pairs
        (left, right).
    rounding
        Largest difference that rounding explains, in the sides' unit; 0 for exact numbers.
    words
        As in ``Sides``.
    """
    if not pairs:
        raise InvalidArgument("pairs", pairs, "must hold one (left, right) or more", "give the two sides")
    gaps = [left - right for left, right in pairs]
    return Sides(gaps, {"rounding": rounding}, identity=True, words=words)


def _named(terms: dict[str, Value]) -> dict[str, Value]:
    if not terms:
        raise InvalidArgument("terms", terms, "must hold at least one summand", "name what is allowed")
    return terms
