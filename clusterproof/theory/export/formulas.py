"""A statement's line as formulas of its quantities: the space, the hypotheses in their words, and both sides."""

from __future__ import annotations

import builtins
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType
from typing import Any

from clusterproof.theory.claims.in_language import WORDS, statement_of
from clusterproof.theory.claims.statement import Statement
from clusterproof.theory.export.expressions import Decided, Expression, Record, of_number, quantity
from clusterproof.theory.kernel import vocabulary
from clusterproof.theory.kernel.evaluation import Outside, Refused, evaluating, limited, running
from clusterproof.theory.kernel.numbers import Abstract, absolute, compare
from clusterproof.theory.kernel.polynomials import Fact
from clusterproof.theory.kernel.spaces import Choice, Interval, OfClass, Range, Tuples, value_of
from clusterproof.theory.kernel.statement import Statement as Stated
from clusterproof.theory.kernel.vocabulary import Sides


@dataclass(frozen=True)
class Quantity:
    """A number of an instance.

    Attributes
    ----------
    name
        That of the function's parameter; of an entry of a sequence with its place.
    expression
        What stands for it in the formulas.
    low, high
        The ends of its range, None where there is none.
    integer
        Whether it is an int.
    options
        If it is one of a few numbers, these.
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
        In the order of the space.
    texts
        Choices that are no numbers.
    hypotheses
        With their words, empty of one that a line alone has; False of one that fails for these choices.
    sides
        None if a hypothesis fails, or the line has another one that does.
    is_lower
        Whether the line says that what is measured is at least something.
    terms
        Names of the summands that are allowed, with what they are.
    record
        Branches and names.
    """

    quantities: tuple[Quantity, ...]
    texts: Mapping[str, Any]
    hypotheses: tuple[tuple[str, Fact | bool], ...]
    sides: Sides | None
    is_lower: bool
    terms: tuple[tuple[str, Any], ...]
    record: Record


class Exporter:
    """Runs a statement on named quantities.

    Parameters
    ----------
    statement
        Of a claim.
    """

    def __init__(self, statement: Statement) -> None:
        self._record = Record()
        self._words: dict[int, Any] = {}
        self._lower: dict[int, Any] = {}
        self._terms: dict[int, Any] = {}
        words = WORDS | {own: self._of(own) for own in WORDS} | {builtins.abs: self._absolute}
        self.stated: Stated = statement_of(statement, words)
        self._statement = statement

    @property
    def plain(self) -> Stated:
        """The statement as the kernel replays it."""
        return statement_of(self._statement)

    # ---- the words of a claim, which keep what they are given

    def _of(self, word: Callable[..., Any]) -> Callable[..., Any]:
        own: dict[str, Callable[..., Any]] = {
            "suppose": self._suppose,
            "given": self._given,
            "at_most": self._compare,
            "at_least": self._compare,
            "equal": self._equal,
        }
        known = WORDS[word]
        make = own.get(known.__name__)
        if make is None:
            return known

        def said(*arguments: Any, words: Any = None, **named: Any) -> Any:
            return make(known, *arguments, **named)

        return said

    def _suppose(self, known: Callable[..., Any], name: Any, holds: Any = None) -> None:
        facts = running().facts
        before = len(facts)
        if holds is None:
            name, holds = "", name
        text = name if type(name) is str else ""
        try:
            known(text, _fact(holds))
        except Outside:
            facts.append(text)
            raise
        self._words |= {id(fact): text for fact in facts[before:]}

    def _given(self, known: Callable[..., Any], name: Any, holds: Any, make: Callable[[], Any]) -> Any:
        return known(name, _fact(holds), make)

    def _compare(self, known: Callable[..., Any], *sides: Any, **terms: Any) -> Sides:
        expressed = {name: self._expressed(value) for name, value in terms.items()}
        options = {name: terms[name] for name in ("failure", "rounding", "decrease_from") if name in terms}
        line: Sides = known(*map(self._expressed, sides), **(expressed | options))
        self._lower[id(line)] = line, known is vocabulary.at_least
        self._terms[id(line)] = [(name, value) for name, value in expressed.items() if name not in options]
        return line

    def _equal(self, known: Callable[..., Any], *pairs: Any, rounding: Any = None) -> Sides:
        pairs_of: Iterator[Any] = ((self._expressed(a), self._expressed(b)) for a, b in pairs)
        line: Sides = known(*pairs_of, rounding=rounding)
        return line

    def _expressed(self, value: Any) -> Any:
        """Return a side with its numbers as expressions, so that the two sides stay apart."""
        if type(value) in (list, tuple):
            return type(value)(map(self._expressed, value))
        return value if isinstance(value, Abstract) or value is None else of_number(self._record, value)

    def _absolute(self, value: Any, /) -> Any:
        if isinstance(value, Expression):
            return value if compare(">=", value, 0) else -value
        return absolute(value)

    # ---- evaluations

    def at(
        self,
        line: str,
        values: Mapping[str, Any] | None = None,
        chosen: Mapping[str, Any] | None = None,
        *,
        partial: bool = False,
    ) -> Formulas:
        """Return a line's formulas.

        Parameters
        ----------
        line
            Name of the line; empty of a single one.
        values
            An instance; None for symbols.
        chosen
            Without an instance, the values of the choices.
        partial
            Whether the hypotheses are enough, where what follows them has no formula.

        Raises
        ------
        Refused
            If the function has no value.
        """
        given = dict(chosen or {}) if values is None else dict(values)
        try:
            return self._evaluated(line, given, partial=partial)
        except (Refused, TypeError):
            if values is None:
                raise
        return self._evaluated(
            line, given, plainly=True
        )  # where its value has no formula, its numbers are left

    @staticmethod
    def _is_numeric(value: Any) -> bool:
        several = value if type(value) is tuple else (value,)
        return all(type(each) in (int, Fraction) for each in several)

    def _evaluated(
        self, line: str, given: Mapping[str, Any], *, plainly: bool = False, partial: bool = False
    ) -> Formulas:
        self._record = Record()
        for kept in (self._words, self._lower, self._terms):
            kept.clear()
        quantities: list[Quantity] = []
        instance: dict[str, Any] = {}
        texts = {name: value for name, value in given.items() if not self._is_numeric(value)}
        sides: Sides | None = None
        facts: list[Any] = []
        with limited():
            for name, allowed in self.stated.space.ranges.items():
                instance[name] = self._quantity(name, allowed, given, instance, quantities)
            ends = len(self._record.branches)
            instance |= given if plainly else {}
            with evaluating() as evaluation, _naming(self._record):
                try:
                    value = self.stated.evaluate(instance)
                except Outside:
                    value = None
                except Refused:
                    if not partial:
                        raise
                    value = None
                found = value.get(line) if type(value) is dict else value
                facts = list(evaluation.facts)
        del self._record.branches[:ends]
        if type(found) is Sides:
            sides = found
            facts += found.facts
        hypotheses = tuple(
            (each, False) if type(each) is str else (self._words.get(id(each), ""), each) for each in facts
        )
        lower = self._lower.get(id(found), (None, False))[1]
        terms = tuple(self._terms.get(id(found), ()))
        return Formulas(tuple(quantities), texts, hypotheses, sides, lower, terms, self._record)

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
            several = [
                self._number(f"{name}_{k}", allowed.entries, None if value is None else value[k], so_far)
                for k in range(length)
            ]
            quantities += several
            return tuple(each.expression for each in several)
        if type(allowed) is OfClass or (value is not None and not self._is_numeric(value)):
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

    def cases(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the choices."""
        chosen = {
            n: allowed.options for n, allowed in self.stated.space.ranges.items() if type(allowed) is Choice
        }
        for case in itertools.product(*chosen.values()):
            yield dict(zip(chosen, case, strict=True))


def _fact(holds: Any) -> Any:
    """Return a comparison as the kernel's."""
    return Fact(holds.slack, holds.strict, holds.equation) if type(holds) is Decided else holds


@contextmanager
def _naming(record: Record) -> Iterator[None]:
    """Note of every expression the first variable of the compiled source that it is the value of."""

    def note(pairs: Iterable[tuple[str, Any]]) -> None:
        for name, value in pairs:
            if type(value) in (list, tuple):
                note((f"{name}_{k}", entry) for k, entry in enumerate(value))
            elif isinstance(value, Expression) and value.parts and not name.startswith((".", "_")):
                record.names.setdefault(id(value), (value, name))

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if "__add_in_place" not in frame.f_globals:
            return None
        note(list(frame.f_locals.items()))
        if event == "return" and frame.f_code.co_name.isidentifier():
            note([(frame.f_code.co_name, argument)])
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
