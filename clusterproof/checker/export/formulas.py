"""A line of a statement as formulas of the quantities: the space, the named hypotheses, and the two sides."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial as partial_of
from typing import Any

from clusterproof.checker.export import following
from clusterproof.checker.export.expressions import (
    Expression,
    Record,
    Symbolic,
    joined,
    of_number,
    plain,
    quantity,
)
from clusterproof.checker.export.following import Path
from clusterproof.checker.export.source_names import naming
from clusterproof.checker.kernel import operations
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.evaluation import (
    Evaluation,
    Outside,
    Refused,
    evaluating,
    limited,
    proving,
    running,
)
from clusterproof.checker.kernel.library import LIBRARY
from clusterproof.checker.kernel.numbers import Abstract, absolute, compare, number
from clusterproof.checker.kernel.quotients import Fact, Many, Quotient
from clusterproof.checker.kernel.ranges import Choice, Interval, OfClass, Range, Tuples, value_of
from clusterproof.checker.kernel.reading import read
from clusterproof.checker.kernel.symbolic import hull
from clusterproof.checker.kernel.vocabulary import Sides


@dataclass(frozen=True)
class Quantity:
    """A number of an instance.

    Attributes
    ----------
    name
        Name of the function's parameter; for an entry of a sequence, the name with the index.
    expression
        The expression that stands for the number in the formulas.
    low, high
        The ends of the number's range, or None for an open side.
    integer
        Whether the number is an int.
    options
        The options, if the range is a choice among a few numbers.
    """

    name: str
    expression: Expression
    low: Any = None
    high: Any = None
    integer: bool = False
    options: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Formulas:
    """A line at one combination of the choices, or at one instance.

    Attributes
    ----------
    quantities
        The quantities, in the order of the space.
    texts
        Choices that are not numbers.
    hypotheses
        Hypotheses with their names; the names are empty for hypotheses of this line alone. False stands for a
        hypothesis that fails for these choices.
    sides
        The two sides, or None if a hypothesis of the statement or of the line fails.
    is_lower
        Whether the line states that the measured side is at least the bound.
    terms
        The summands of the bound, indexed by name.
    record
        Branches and names.
    path
        On symbols, the known facts and the facts to show.
    """

    quantities: tuple[Quantity, ...]
    texts: Mapping[str, Any]
    hypotheses: tuple[tuple[str, Fact | bool], ...]
    sides: Sides | None
    is_lower: bool
    terms: tuple[tuple[str, Any], ...]
    record: Record
    path: Path | None = None


class Exporter:
    """Object that runs a statement on named quantities, and returns the formulas of its lines.

    Parameters
    ----------
    text, name
        Text of a claim, and name of one of its statements.
    evidence
        The evidence. Its field ``listed`` names the integers that have a value in each case. ``between`` names the
        choices that become symbols. ``states`` is the number of symbols for states.
    """

    def __init__(self, text: str, name: str, evidence: Mapping[str, Any] | None = None) -> None:
        self._evidence = evidence or {}
        self._record = Record()
        self._words: dict[int, Any] = {}
        self._terms: dict[int, Any] = {}
        self._is_whole = False
        words = {own: self._of(own, known) for own, known in WORDS.items()} | {"abs": self._absolute}
        words |= {own: self._extreme(own) for own in ("min", "max")}
        self.stated = read(text, words).statements[name]
        between = self._evidence.get("between", ())
        self.ranges = {n: hull(r) if n in between else r for n, r in self.stated.space.ranges.items()}

    # ---- the words of a claim, which keep what they are given

    def _of(self, word: str, known: Callable[..., Any]) -> Callable[..., Any]:
        own: dict[str, Callable[..., Any]] = {
            "suppose": self._suppose,
            "given": self._given,
            "at_most": self._compare,
            "at_least": self._compare,
            "equal": self._equal,
            "known": self._known,
            "iterate": self._iterate,
        }
        make = own.get(word)
        if make is None:
            return known

        def said(*arguments: Any, words: Any = None, **named: Any) -> Any:
            return make(known, *arguments, **named)

        return said

    def _suppose(self, known: Callable[..., Any], name: Any, holds: Any = None) -> None:
        before = len(running().now.facts)
        if holds is None:
            name, holds = "", name
        text = name if type(name) is str else ""
        try:
            known(text, plain(holds))
        except Outside:
            running().add(facts=(text,))
            raise
        self._words |= {id(fact): text for fact in running().now.facts[before:]}

    def _given(self, known: Callable[..., Any], name: Any, holds: Any, make: Callable[[], Any]) -> Any:
        return known(name, plain(holds), make)

    def _compare(self, known: Callable[..., Any], *sides: Any, **terms: Any) -> Sides:
        expressed = {name: self._expressed(value) for name, value in terms.items()}
        options = {name: terms[name] for name in ("failure", "rounding", "decrease_from") if name in terms}
        line: Sides = known(*map(self._expressed, sides), **(expressed | options))
        self._terms[id(line.entries)] = [
            (name, value) for name, value in expressed.items() if name not in options
        ]
        return line

    def _equal(self, known: Callable[..., Any], *pairs: Any, rounding: Any = None) -> Sides:
        pairs_of: Iterator[Any] = ((self._expressed(a), self._expressed(b)) for a, b in pairs)
        line: Sides = known(*pairs_of, rounding=rounding)
        return line

    def _expressed(self, value: Any) -> Any:
        """Return a side with its numbers as expressions, so that the two sides are not combined."""
        if type(value) in (list, tuple):
            return type(value)(map(self._expressed, value))
        return value if isinstance(value, Abstract) or value is None else of_number(self._record, value)

    def _known(self, known: Callable[..., Any], make: Callable[[], Any], says: Callable[[Any], Any]) -> Any:
        return following.known(self._record, make, says) if proving() else known(make, says)

    def _iterate(
        self, known: Callable[..., Any], step: Any, start: Any, rounds: Any, *, invariant: Any = None
    ) -> Any:
        if isinstance(rounds, Symbolic | Many):
            return following.iterate(self._record, step, start, rounds, invariant)
        return known(step, start, number(rounds) if isinstance(rounds, Expression) else rounds)

    def _extreme(self, word: str) -> Callable[..., Any]:
        known = LIBRARY[word]

        def find(*values: Any, **named: Any) -> Any:
            if not self._is_whole or named:
                return known(*values, **named)
            entries = list(operations.each(values[0] if len(values) == 1 else values))
            is_formula = any(isinstance(entry, Symbolic) for entry in entries)
            return functools.reduce(partial_of(joined, word), entries) if is_formula else known(entries)

        return find

    def _absolute(self, value: Any, /) -> Any:
        if self._is_whole and isinstance(value, Symbolic):
            return joined("abs", value)
        if isinstance(value, Expression):
            return value if compare(">=", value, 0) else -value
        return absolute(value)

    # ---- evaluations

    def at(self, line: str, values: Mapping[str, Any]) -> Formulas:
        """Return the formulas of a line at an instance.

        Raises
        ------
        Refused
            If the function has no value.
        """
        try:
            return self._evaluated(line, values, Evaluation())
        except (Refused, TypeError):  # its value has no formula: use numbers
            return self._evaluated(line, values, Evaluation(), plainly=True)

    def paths(self, line: str, chosen: Mapping[str, Any]) -> Iterator[Formulas]:
        """Yield the formulas of a line on symbols, on each path through the branches; some may not reach the line.

        Parameters
        ----------
        line
            Name of the line, or an empty string if it is the only one.
        chosen
            The values of the choices.
        """
        decisions: list[bool] | None = []
        while decisions is not None:
            evaluation = Evaluation(decisions=decisions)
            formulas = self._evaluated(line, chosen, evaluation, on_symbols=True)
            decisions = evaluation.next_decisions()
            yield formulas

    def hypotheses(self, line: str, chosen: Mapping[str, Any]) -> Formulas:
        """Return the hypotheses of a line on symbols; the rest of the function may have no formula."""
        return self._evaluated(line, chosen, Evaluation(), on_symbols=True, partial=True)

    def without_branches(self, line: str, chosen: Mapping[str, Any]) -> Formulas | None:
        """Return the formulas of a line on symbols, with min, max and abs; choices of numbers are symbols.

        The result is None if the source still branches, or needs a number in place of a symbol.
        """
        evidence, self._evidence, self._is_whole = self._evidence, {}, True
        evaluation = Evaluation(decisions=[])
        try:
            found = self._evaluated(line, chosen, evaluation, on_symbols=True)
        except (Refused, TypeError):
            return None
        finally:
            self._evidence, self._is_whole = evidence, False
        return None if evaluation.asked or found.record.unknowns or found.sides is None else found

    @staticmethod
    def _is_numeric(value: Any) -> bool:
        several = value if type(value) is tuple else (value,)
        return all(type(each) in (int, Fraction) for each in several)

    def _evaluated(
        self,
        line: str,
        given: Mapping[str, Any],
        evaluation: Evaluation,
        *,
        plainly: bool = False,
        on_symbols: bool = False,
        partial: bool = False,
    ) -> Formulas:
        self._record = record = Record()
        for kept in (self._words, self._terms):
            kept.clear()
        quantities: list[Quantity] = []
        instance: dict[str, Any] = {}
        texts = {name: value for name, value in given.items() if not self._is_numeric(value)}
        sides: Sides | None = None
        with limited():
            for name, allowed in self.ranges.items():
                instance[name] = self._quantity(name, allowed, given, instance, quantities)
                if on_symbols:
                    quantities = [q if q.name not in given else _is_it(q) for q in quantities]
            ends = len(record.branches)
            instance |= given if plainly else {}
            count = sum(not q.options for q in quantities)
            record.whole_part = partial_of(following.whole_part, record)
            record.width = count + (self._evidence.get("states", 0) if on_symbols else 0)
            spare = tuple(range(count, record.width))
            evaluation.now = replace(evaluation.now, spare=spare)
            evaluation.states = frozenset(spare)
            places = itertools.count()
            for q in quantities:
                own = q.expression.value
                record.symbols[q.name] = (
                    own if q.options or not on_symbols else Quotient.symbol(next(places), record.width)
                )
            with evaluating(evaluation), naming(record.names, Expression):
                try:
                    value = self.stated.evaluate(instance)
                except Outside:
                    value = None
                except Refused:
                    if not partial:
                        raise
                    value = None
                found = (value or {}).get(line)
                shown: list[Fact] = []
                if type(found) is Sides:
                    sides = found
                    evaluation.add(path=tuple((fact, fact) for fact in sides.facts))
                    shown = [Fact(slack, equation=sides.equation) for slack in sides.slacks]
                path = following.path_to(record, (), shown)
        del record.branches[:ends]
        hypotheses = tuple(
            (each, False) if isinstance(each, str) else (self._words.get(id(each), ""), each)
            for each in (path.own if on_symbols else path.known)
        )
        lower = sides is not None and sides.sign == ">="
        terms = () if sides is None else tuple(self._terms.get(id(sides.entries), ()))
        return Formulas(tuple(quantities), texts, hypotheses, sides, lower, terms, record, path)

    def _quantity(
        self,
        name: str,
        allowed: Range,
        given: Mapping[str, Any],
        so_far: Mapping[str, Any],
        quantities: list[Quantity],
    ) -> Any:
        value = given.get(name)
        if type(allowed) is Tuples:
            length = value_of(allowed.length, so_far) if value is None else len(value)
            if type(length) is not int and type(allowed.entries) is Interval:  # each round takes one
                low, high = allowed.entries.ends(so_far)
                return Many(low, high, length)
            several = [
                self._number(f"{name}_{k}", allowed.entries, None if value is None else value[k], so_far)
                for k in range(length)
            ]
            quantities += several
            return tuple(each.expression for each in several)
        is_open = self._is_whole and name not in given
        if is_open and type(allowed) is Choice and all(map(self._is_numeric, allowed.options)):
            quantities.append(self._of_all(name, allowed, so_far))
            return quantities[-1].expression
        if type(allowed) is OfClass or (name in given and not self._is_numeric(value)):
            return value
        quantities.append(self._number(name, allowed, value, so_far))
        return quantities[-1].expression

    def _number(self, name: str, allowed: Range, value: Any, so_far: Mapping[str, Any]) -> Quantity:
        own = quantity(self._record, name, value)
        if type(allowed) is Interval:
            low, high = allowed.ends(so_far)
            return Quantity(name, own, low, high, allowed.integers)
        assert type(allowed) is Choice
        options = tuple(each for each in allowed.options if type(each) in (int, Fraction))
        return Quantity(name, own, integer=type(value) is int, options=options)

    def whole(self) -> list[Quantity]:
        """Return all quantities with their ranges; no choice has a value yet.

        Raises
        ------
        Refused
            If a range depends on a choice.
        """
        self._record = Record()
        so_far: dict[str, Any] = {}
        found: list[Quantity] = []
        for name, allowed in self.ranges.items():
            if type(allowed) is OfClass:
                continue
            if type(allowed) is Tuples:
                length = value_of(allowed.length, so_far)
                places = range(length) if type(length) is int else ()
                several = [self._of_all(f"{name}_{k}", allowed.entries, so_far) for k in places]
                so_far[name] = tuple(q.expression for q in several)
            else:
                several = [self._of_all(name, allowed, so_far)]
                so_far[name] = several[0].expression
            found += several
        return found

    def _of_all(self, name: str, allowed: Range, so_far: Mapping[str, Any]) -> Quantity:
        if type(allowed) is Choice:
            return Quantity(name, quantity(self._record, name), options=allowed.options)
        return self._number(name, allowed, None, so_far)

    def cases(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the choices, and of the listed integers."""

        def extended(case: dict[str, Any], names: list[str]) -> Iterator[dict[str, Any]]:
            if not names:
                yield case
                return
            for value in self.ranges[names[0]].every(case):
                yield from extended({**case, names[0]: value}, names[1:])

        listed = self._evidence.get("listed", ())
        return extended({}, [n for n, r in self.ranges.items() if type(r) is Choice or n in listed])


def _is_it(one: Quantity) -> Quantity:
    """Return a quantity with the value that it has in a case."""
    return replace(one, low=None, high=None, options=(one.expression.value,))
