"""Tie a proof by a separate function to the statement: both give the same sides at every instance that is tried."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.instance_words import quantities
from clusterproof.theory.checker.ranges import Interval
from clusterproof.theory.checker.rounding import TOLERANCE, is_exact
from clusterproof.theory.checker.sides import Outside, Sides, with_value
from clusterproof.theory.checker.symbols import Symbol

if TYPE_CHECKING:
    from clusterproof.theory.checker.statement import Statement

COMPARED = 50
"""Instances at which a statement is compared with its proof, at least, unless the space holds fewer."""

Points = Mapping[str, Any] | list[Mapping[str, Any]]
"""Arguments of the proof's function for one instance of the statement, or one set of them for each coordinate."""

Calls = list[tuple["Statement", Sides, str]]
"""Calls of proved functions: the proof, the returned sides, why they do not count."""

_CALLS: ContextVar[Calls | None] = ContextVar("calls of proved functions", default=None)


@dataclass
class Tie:
    """A proof by a separate function, and what comparing it with the statement gave.

    Attributes
    ----------
    proof
        The proved statement.
    compared
        Instances at which both gave the same sides.
    refused
        Why the proof does not speak of the statement; empty where nothing speaks against it.
    """

    proof: Statement
    compared: int = 0
    refused: str = ""

    def compare(
        self,
        part: str,
        arguments: Mapping[str, Any],
        conclusions: Mapping[str, Sides | Frequency | Expectation],
        calls: Calls,
    ) -> None:
        """Compare the sides of one instance with those that the proof gives for it.

        Parameters
        ----------
        part
            Name of the statement's part.
        arguments
            Of the statement's function.
        conclusions
            What it returned.
        calls
            Calls of proved functions that it made.
        """
        if self.refused:
            return
        own = [(sides, wrong) for proof, sides, wrong in calls if proof is self.proof]
        wrong = next((wrong for _, wrong in own if wrong), "")
        if wrong:
            self.refused = wrong
        elif own and all(any(each is sides for sides, _ in own) for each in conclusions.values()):
            self.compared += 1
        else:
            self.refused = self._difference(part, arguments, conclusions)
            self.compared += not self.refused

    def _difference(
        self,
        part: str,
        arguments: Mapping[str, Any],
        conclusions: Mapping[str, Sides | Frequency | Expectation],
    ) -> str:
        """Evaluate the proof at the instance, and return why its sides are others; empty if they agree."""
        at = (
            self.proof.at[part]
            if isinstance(self.proof.at, Mapping) and part in self.proof.at
            else self.proof.at
        )
        if not callable(at):
            return "nothing says which of its quantities an instance gives"
        given = at(**arguments)
        found: list[dict[str, Any]] = []
        for point in [given] if isinstance(given, Mapping) else given:
            try:
                found.append(dict(self.proof.conclude(self.proof.space.flatten(point))))
            except InvalidArgument as error:
                return f"an instance lies outside of its ranges ({error})"
            except Outside as outside:
                return f'an instance does not meet its hypothesis "{outside}"'
        if not found or found[0].keys() != conclusions.keys():
            return "it has other conclusions than the statement"
        for name, sides in conclusions.items():
            if not isinstance(sides, Sides) or sides.failure is not None:
                return "the statement is about a probability"
            if not same_sides(sides, [each[name] for each in found]):
                return f"it has other sides than the statement at {quantities(arguments)}"
        return ""


def recording_calls() -> AbstractContextManager[Calls]:
    """Collect the calls of proved functions that a statement makes while it is evaluated."""
    return with_value(_CALLS, [])


def summed(sides: Sides, axis: int) -> Sides:
    """Add up the entries of sides along an axis: what holds of each holds of the sum, and a tie to a proof stays."""

    def add(value: Any, like: Any) -> Any:
        return np.broadcast_to(np.asarray(value), np.shape(like)).sum(axis=axis)

    if sides.identity:
        pairs = tuple((add(left, left - right), add(right, left - right)) for left, right in sides.pairs)
        added = replace(sides, measured=[left - right for left, right in pairs], pairs=pairs)
    else:
        terms = {name: add(term, sides.measured) for name, term in sides.terms.items()}
        added = replace(sides, measured=np.sum(sides.measured, axis=axis), terms=terms)
    calls = _CALLS.get() or []
    calls += [(proof, added, wrong) for proof, each, wrong in calls if each is sides]
    return added


def recorded(statement: Statement) -> Callable[..., Any]:
    """Wrap a proved function: a statement that returns the sides that it returns is tied to the proof."""

    def call(*args: Any, **kwargs: Any) -> Any:
        sides = statement.function(*args, **kwargs)
        calls = _CALLS.get()
        if calls is not None:
            wrong = _outside(statement, args, kwargs)
            each = sides.values() if isinstance(sides, Mapping) else [sides]
            calls.extend((statement, one, wrong) for one in each if isinstance(one, Sides))
        return sides

    call.__doc__, call.__module__ = statement.function.__doc__, statement.function.__module__
    call.__name__ = call.__qualname__ = getattr(statement.function, "__name__", statement.name)
    return call


def _outside(statement: Statement, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return which quantity of a call lies outside of the proof's ranges; empty if none does."""
    given = dict(zip(inspect.signature(statement.function).parameters, args, strict=False)) | dict(kwargs)
    values = statement.space.quantities(given)
    for name, allowed in statement.space.ranges.items():
        value = values.get(name)
        if isinstance(value, Symbol):
            return ""  # within another proof
        if isinstance(value, int | Fraction):
            inside = (
                allowed.within(value, values)
                if isinstance(allowed, Interval)
                else allowed.holds(value, values)
            )
        elif isinstance(allowed, Interval):
            low, high = allowed.bounds(values)
            numbers = np.asarray(value, dtype=float)
            tolerance = TOLERANCE * max(1.0, float(np.max(np.abs(numbers), initial=0.0)))
            inside = (low is None or bool(np.all(numbers >= np.asarray(low, dtype=float) - tolerance))) and (
                high is None or bool(np.all(numbers <= np.asarray(high, dtype=float) + tolerance))
            )
        else:
            inside = allowed.holds(value, values)
        if not inside:
            return f"an instance lies outside of its ranges ({name} must be {allowed.describe()})"
    return ""


def same_sides(sides: Sides, proved: list[Sides]) -> bool:
    """Whether the entries of a statement's sides are those that its proof gives, one after the other."""
    first = proved[0]
    if (sides.identity, sides.lower, {*sides.terms}) != (first.identity, first.lower, {*first.terms}):
        return False
    whole, parts = _columns(sides), [_columns(each) for each in proved]
    columns: Any = zip(whole, zip(*parts, strict=True), strict=True)
    if len(whole) != len(parts[0]):  # equations of several coordinates
        columns = [(whole[side::2], [each[side::2] for each in parts]) for side in (0, 1)]
    return all(_equal(_entries(whole), _entries(parts), sides.rounding or 0.0) for whole, parts in columns)


def _columns(sides: Sides) -> list[Any]:
    """Left and right of each equation, or what is measured and each term, of its shape."""
    if sides.identity:
        return [side for pair in sides.pairs for side in pair]
    shape = np.shape(sides.measured)
    terms = [sides.terms[name] for name in sorted(sides.terms)]
    return [sides.measured, *(np.broadcast_to(np.asarray(term), shape) if shape else term for term in terms)]


def _entries(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [entry for each in value for entry in _entries(each)]
    return list(np.asarray(value, dtype=object).ravel()) if isinstance(value, np.ndarray) else [value]


def _equal(first: list[Any], second: list[Any], rounding: float) -> bool:
    if len(first) != len(second):
        return False
    if is_exact(first) and is_exact(second):
        return first == second
    left, right = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    unit = float(np.max(np.abs(left), initial=0.0))
    return bool(np.all(np.abs(left - right) <= rounding + TOLERANCE * unit))
