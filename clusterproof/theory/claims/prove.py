"""Proofs: a function that is evaluated on symbols is a formula, whose signs its coefficients decide."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.randomness import generator
from clusterproof.theory.claims.claim import Proof, quantities
from clusterproof.theory.claims.judge import Conclusion
from clusterproof.theory.claims.polynomial_signs import Bounds, is_nonnegative, is_positive
from clusterproof.theory.claims.ranges import Instance, Range
from clusterproof.theory.claims.rounding import TOLERANCE, is_exact
from clusterproof.theory.claims.several import Several
from clusterproof.theory.claims.sides import Excluded, Outside, Sides, naming_hypotheses
from clusterproof.theory.claims.space import Space
from clusterproof.theory.claims.symbols import (
    Condition,
    Symbol,
    exactly,
    limiting_terms,
    recording_refusals,
    symbols,
)

CASES = 1000
"""Most combinations of listed values, each of which gets a proof of its own."""
MOST = 1_000_000
"""Sums and products of terms of a proof, some seconds: a longer one is given up."""
COMPARED = 50
"""Instances at which a statement is compared with a proved formula, at least, unless the space holds fewer."""
TRIES, LISTED = 400, 1000
"""Instances that are drawn, and that are listed, at most, until 100 are compared with a formula."""
NO_FORMULA = (TypeError, ValueError, AttributeError, ZeroDivisionError, OverflowError, InvalidArgument)
"""What a function raises on symbols that is no formula of them."""

UNDECIDED = "the coefficients do not decide"

Evaluate = Callable[[Instance], Mapping[str, Conclusion]]
"""Returns the lines of an instance by name."""


class Unproved(Exception):
    """The coefficients do not decide, or the function is no formula; the message says which."""


@dataclass(frozen=True)
class Case:
    """What a function is on symbols, at one combination of the quantities that are choices.

    Attributes
    ----------
    listed
        These quantities.
    lines
        What the function returns.
    hypotheses
        Comparisons of symbols that all lines suppose.
    """

    listed: Instance
    lines: Mapping[str, Conclusion]
    hypotheses: Sequence[Condition]


@dataclass(frozen=True)
class Formula:
    """What a function is on symbols, case by case.

    Attributes
    ----------
    space, cases, bounds
        Of the function, and the least and largest value of each symbol.
    unproved
        Of each line why it is not proved; empty if it is.
    compared
        Instances at which the function gave what its formula gives.
    """

    space: Space
    cases: Sequence[Case]
    bounds: Sequence[Bounds]
    unproved: Mapping[str, str]
    compared: int = 0

    def at(self, instance: Instance) -> dict[str, Any] | None:
        """Put numbers in the place of the symbols; None if there is no such case."""
        case = self._case(instance)
        if case is None:
            return None
        numbers = self._numbers(instance)
        return {name: _at(line, numbers) for name, line in case.lines.items()}

    def breaks_hypothesis(self, instance: Instance) -> bool:
        """Return whether an instance breaks a hypothesis on symbols, by more than rounding may explain."""
        case, numbers = self._case(instance), self._numbers(instance)
        return case is not None and any(
            condition.excess.at(numbers) > TOLERANCE
            for condition in case.hypotheses
            if condition.excess is not None and not condition.of_line
        )

    def _case(self, instance: Instance) -> Case | None:
        cases = (
            case for case in self.cases if all(instance[name] == value for name, value in case.listed.items())
        )
        return next(cases, None)

    def _numbers(self, instance: Instance) -> list[Any]:
        numbers: list[Any] = []
        for name, allowed in self.space.ranges.items():
            numbers += allowed.numbers(instance[name]) if isinstance(allowed, Several) else [instance[name]]
        return [Fraction(each) if isinstance(each, int | float | Fraction) else 0 for each in numbers]

    def is_sum_of_squares(self, line: str) -> bool:
        """Return whether a line that the coefficients do not decide is proved by sums of squares."""
        if self.unproved.get(line) != UNDECIDED or not self.compared:
            return False
        from clusterproof.theory.claims.squares import is_certified

        return all(
            _is_settled(excess, self.bounds) or is_certified(excess, self.bounds, case.hypotheses)
            for case in self.cases
            for excess in _excesses(case.lines[line])
        )


def prove(space: Space, evaluate: Evaluate) -> Formula:
    """Prove lines for every instance of their ranges.

    An equation is the zero polynomial. In an inequality the difference of the sides is a quotient whose denominator the
    coefficients show to be positive and whose numerator they show to be nonnegative. Hypotheses beyond the ranges are
    not used: what is proved is more. Quantities that are choices are taken case by case.

    Parameters
    ----------
    space
        Of the function.
    evaluate
        Returns its lines for an instance.

    Raises
    ------
    Unproved
        If the function is no formula, or one of more than ``MOST`` sums and products of terms.
    """
    with limiting_terms(MOST):
        return _prove(space, evaluate)


def _prove(space: Space, evaluate: Evaluate) -> Formula:
    cases, bounds, names = _cases(space)
    formulas: list[Case] = []
    unproved: dict[str, str] = {}
    for case in cases:
        try:
            with naming_hypotheses({}) as stated, recording_refusals() as refused:
                lines = evaluate(case)
            if refused:
                raise Unproved(f"the function catches what symbols raise: {refused[0]}")
            assumed = [condition for condition in stated.values() if condition is not None]
            for name, line in lines.items():
                unproved[name] = unproved.get(name, "") or _doubt(line, bounds, bool(assumed))
        except Outside:  # a choice that the hypotheses exclude
            continue
        except NO_FORMULA as error:
            raise Unproved(f"the statement is no formula: {error}") from error
        formulas.append(Case({name: case[name] for name in names}, lines, assumed))
    if not formulas:
        raise Unproved("no combination of choices meets the hypotheses")
    formula = Formula(space, formulas, bounds, unproved)
    if not {"", UNDECIDED} & set(unproved.values()):
        return formula
    where, compared = _differs(space, evaluate, formula)
    if where:
        raise Unproved(f"the function does not give what its formula gives at {where}")
    return replace(formula, compared=compared)


def _cases(space: Space) -> tuple[list[dict[str, Any]], list[Bounds], list[str]]:
    """Return instances with symbols for all quantities but choices, the symbols' bounds, and the choices' names."""
    listed: dict[str, Any] = {}
    bounds: list[Bounds] = []
    known: dict[str, Any] = {}
    left = iter(
        symbols(tuple(n for name, each in space.ranges.items() for n in _symbols_of(name, each))).values()
    )
    for name, allowed in space.ranges.items():
        try:
            if isinstance(allowed, Several):
                numbers: list[Any] = []
                for _ in _symbols_of(name, allowed):
                    bounds.append(allowed.number_bounds(numbers, known))
                    numbers.append(next(left))
                known[name] = allowed.build(numbers, known)
                continue
            ends = allowed.bounds(known)
        except (KeyError, *NO_FORMULA) as error:
            raise Unproved(f"the range of {name} has no formula for an end") from error
        symbol = next(left)
        if ends is None:
            values = allowed.values(known)
            if values is None or not allowed.complete:
                raise Unproved(f"{name} has neither bounds nor a complete list")
            listed[name] = values
            bounds.append((0, None))  # takes the place of a symbol that does not occur
        else:
            known[name] = symbol
            bounds.append(ends)
    if not known:
        raise Unproved("every quantity is a choice")
    cases = list(itertools.islice(itertools.product(*listed.values()), CASES + 1))
    if len(cases) > CASES:
        raise Unproved(f"there are more than {CASES} combinations of choices")
    return [known | dict(zip(listed, case, strict=True)) for case in cases], bounds, list(listed)


def _symbols_of(name: str, allowed: Range) -> list[str]:
    """Name the symbols of a quantity."""
    if not isinstance(allowed, Several):
        return [name]
    try:
        return [f"{name}[{index}]" for index in range(allowed.count({}))]
    except (KeyError, *NO_FORMULA) as error:
        raise Unproved(f"{name} has no fixed number of symbols") from error


def _doubt(line: Conclusion, bounds: Sequence[Bounds], assumed: bool) -> str:
    """Return why a line is not proved; empty if it is."""
    try:
        proved = isinstance(line, Excluded) or _holds(line, bounds, assumed)
    except NO_FORMULA as error:
        return f"the statement is no formula: {error}"
    return "" if proved else UNDECIDED


def _holds(line: Conclusion, bounds: Sequence[Bounds], assumed: bool) -> bool:
    if not isinstance(line, Sides) or line.failure is not None or line.rounding:
        raise TypeError("a proof needs sure and exact sides")
    if line.identity:
        gaps = _entries(line.measured)
        for gap in gaps if not assumed else ():
            if isinstance(gap, Symbol) and not any(
                is_positive(each, bounds) for each in (gap.bottom, -gap.bottom)
            ):
                raise TypeError("it divides by a quantity whose sign neither a range nor a hypothesis gives")
        return all(not g.top.terms if isinstance(g, Symbol) else exactly(g) == 0 for g in gaps)
    return all(_is_settled(excess, bounds) for excess in _excesses(line))


def _excesses(line: Any) -> list[Any]:
    """Return by how much each entry of a line holds."""
    if not isinstance(line, Sides):
        return []
    first, *others = (
        np.asarray(side, dtype=object) if isinstance(side, list | tuple) else side
        for side in (line.measured, *line.terms.values())
    )
    allowed = sum(others[1:], start=others[0])
    return _entries(first - allowed if line.lower else allowed - first)


def _is_settled(excess: Any, bounds: Sequence[Bounds]) -> bool:
    if not isinstance(excess, Symbol):
        return bool(exactly(excess) >= 0)
    return _has_sign(excess, bounds, is_nonnegative)


def _has_sign(excess: Symbol, bounds: Sequence[Bounds], sign: Callable[..., bool]) -> bool:
    """Return whether a quotient has a sign, ``is_nonnegative`` or ``is_positive``, throughout the bounds."""
    quotients = ((excess.top, excess.bottom), (-excess.top, -excess.bottom))
    return any(is_positive(bottom, bounds) and sign(top, bounds) for top, bottom in quotients)


# ---- whether the function gives on numbers what it gave on symbols: a proof speaks of no other function


def _differs(space: Space, evaluate: Evaluate, formula: Formula) -> tuple[str, int]:
    """Return an instance at which function and formula differ, empty if none is found, and how many do not."""
    left = 2 * COMPARED
    for instance in _instances(space):
        with suppress(Outside, ZeroDivisionError):
            lines = formula.at(instance)
            if lines is None:
                continue
            found = evaluate(instance)
            left -= 1
            same = found.keys() == lines.keys() and all(_are_same(found[n], [[lines[n]]]) for n in found)
            if not same or formula.breaks_hypothesis(instance):
                return quantities(space.encode(instance)), 0
        if not left:
            break
    return "", 2 * COMPARED - left


def _instances(space: Space) -> Iterator[Instance]:
    """Draw instances, and list some."""
    stream = generator(0, "instances of a formula")
    for _ in range(TRIES):
        instance: dict[str, Any] = {}
        for name, allowed in space.ranges.items():
            instance[name] = allowed.draw(instance, stream)
        if space.holds(instance):
            yield instance
    yield from (space.instances(LISTED) or ())


def _at(line: Any, numbers: Sequence[Any]) -> Any:
    """Put numbers in the place of the symbols."""

    def value(side: Any) -> Any:
        if isinstance(side, list | tuple):
            return [value(each) for each in side]
        if isinstance(side, np.ndarray) and side.dtype == object:
            entries = [value(each) for each in side.ravel()]
            return np.array(entries, dtype=object).reshape(side.shape)
        return side.at(numbers) if isinstance(side, Symbol) else side

    if not isinstance(line, Sides):
        return line
    return replace(
        line,
        measured=[value(gap) for gap in line.measured] if line.identity else value(line.measured),
        terms={name: value(term) for name, term in line.terms.items()},
        pairs=tuple((value(left), value(right)) for left, right in line.pairs),
    )


# ---- a proof of another formula, which says nothing of the statement at instances that are not compared


@dataclass
class Tie:
    """A proof of another function, and what comparing it with the statement gave; it certifies nothing.

    Attributes
    ----------
    proof
        The function that is proved.
    formula
        What it is on symbols; None if it is no formula.
    unproved
        By its lines, why it is not proved; empty if it is.
    compared
        Instances at which each line of the statement had the same sides, by name.
    refused
        By line, why the proof does not speak of it.
    known
        Lines of the statement.
    """

    proof: Proof
    formula: Formula | None
    unproved: Mapping[str, str]
    compared: dict[str, int]
    refused: dict[str, str]
    known: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, proof: Proof) -> Tie:
        """Try to prove the function."""
        try:
            formula = prove(proof.space, proof.lines)
        except Unproved as reason:
            return cls(proof, None, {"": str(reason)}, {}, {})
        unproved = {
            line: "" if formula.is_sum_of_squares(line) else why for line, why in formula.unproved.items()
        }
        return cls(proof, formula, unproved, {}, {})

    def speaks_of(self, line: str) -> bool:
        """Return whether it proves the line, or a step that belongs to no line."""
        of_no_line = self.proof.at is None or not self.known & {self.proof.name, *self.unproved}
        return of_no_line or self.proof.name in ("", line) or line in self.unproved

    def compare(self, arguments: Mapping[str, Any], lines: Mapping[str, Conclusion]) -> None:
        """Compare the lines of one instance with those that the proof gives for it."""
        self.known |= lines.keys()
        if self.proof.at is None or self.formula is None:
            return
        try:
            given = self.proof.at(**arguments)
            entries = [given] if isinstance(given, Mapping) else given
            groups = [each if isinstance(each, list) else [each] for each in entries]
            points = [[self.proof.space.flatten(point) for point in group] for group in groups]
            proved = [[self._lines(point) for point in group] for group in points]
        except InvalidArgument as error:
            self._refuse(lines, f"an instance lies outside of its ranges ({error})")
            return
        except Outside as outside:
            self._refuse(lines, f'an instance does not meet its hypothesis "{outside}"')
            return
        names = proved[0][0].keys() if proved and proved[0] else ()
        for name, line in lines.items():
            key = name if name in names else ""
            if key not in names or (key != name and self.proof.name != name) or isinstance(line, Excluded):
                continue
            if not isinstance(line, Sides) or line.failure is not None:
                self._refuse([name], "the statement is about a probability")
            elif not _are_same(line, [[each[key] for each in group] for group in proved]):
                self._refuse([name], f"it has other sides than the statement at {quantities(arguments)}")
            else:
                self.compared[name] = self.compared.get(name, 0) + 1

    def _lines(self, point: Instance) -> dict[str, Any]:
        """Return the proved formula at numbers that meet the function's hypotheses."""
        self.proof.lines(point)  # raises Outside
        assert self.formula is not None
        return self.formula.at(point) or {}

    def _refuse(self, lines: Any, why: str) -> None:
        for name in lines:
            self.refused.setdefault(name, why)


def _are_same(line: Any, proved: list[list[Any]]) -> bool:
    """Return whether a statement's sides are those of its proof: summed in each list, one list for each entry.

    If the statement's sides are single numbers, all are summed.
    """
    first = proved[0][0]
    if not isinstance(line, Sides) or not isinstance(first, Sides):
        return bool(line == first)
    if (line.identity, line.lower, {*line.terms}) != (first.identity, first.lower, {*first.terms}):
        return False
    whole, parts = _columns(line), [_summed([_columns(each) for each in group]) for group in proved]
    if len(proved) > 1 and all(np.size(side) == 1 for side in whole) and len(whole) == len(parts[0]):
        parts = [_summed(parts)]
    columns: Any = zip(whole, zip(*parts, strict=True), strict=True)
    if len(whole) != len(parts[0]):  # equations of several coordinates
        columns = [(whole[side::2], [each[side::2] for each in parts]) for side in (0, 1)]
    return all(_equal(_entries(whole), _entries(parts), line.rounding or 0.0) for whole, parts in columns)


def _summed(parts: list[list[Any]]) -> list[Any]:
    return [sum(each[1:], start=each[0]) for each in zip(*parts, strict=True)]


def _columns(sides: Sides) -> list[Any]:
    """Return left and right of each equation, or what is measured and each term, of its shape."""
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
