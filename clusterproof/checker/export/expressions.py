"""Formulas of a claim: the kernel runs the claim's function on named quantities, and every operation is stored.

If a quantity has a value, this value decides comparisons of the quantity, and each decision is stored as a branch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, running
from clusterproof.checker.kernel.numbers import Abstract, divide, number
from clusterproof.checker.kernel.quotients import Fact

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divide,
}


@dataclass
class Record:
    """The record of an evaluation.

    Attributes
    ----------
    branches
        The comparisons that values decided, and whether they hold.
    names
        For each expression, by its identity: the expression, and the first source variable that had this value.
    width, symbols
        ``width``: number of the kernel's symbols. ``symbols``: by the name of a quantity, its value in these symbols.
    places, solved
        Both are indexed by the name of a quantity. ``places``: index of a quantity that stands for a state. ``solved``:
        the value that an equation determines.
    whole_part
        Function that returns the quantity for the whole part of a quotient.
    unknowns, said, goals
        For the current path: the values about which only stated facts are known; the identities of these facts; and all
        paths with facts to show.
    """

    branches: list[tuple[Fact, bool]] = field(default_factory=list)
    names: dict[int, tuple[Any, str]] = field(default_factory=dict)
    width: int = 0
    symbols: dict[str, Any] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    solved: dict[str, tuple[Any, Fact]] = field(default_factory=dict)
    whole_part: Callable[[Any, int], Expression] = operator.floordiv
    unknowns: list[Any] = field(default_factory=list)
    said: set[int] = field(default_factory=set)
    goals: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Expression(Abstract):
    """An operator with its operands, a number, or a quantity.

    Attributes
    ----------
    operator
        One of + - * / ^ negative number quantity; in a statement without branches also min, max and abs.
    parts
        The operands. The second operand of a power is an int. A number has its value here, and a quantity its name.
    value
        The value, or None if it depends on a quantity without a value.
    """

    record: Record
    operator: str
    parts: tuple[Any, ...]
    value: int | Fraction | None

    def _lifted(self, other: Any) -> Expression:
        return other if isinstance(other, Expression) else of_number(self.record, other)

    def _joined(self, operator: str, left: Any, right: Any) -> Expression:
        left, right = self._lifted(left), self._lifted(right)
        value = None
        if left.value is not None and right.value is not None:
            value = OPERATIONS[operator](left.value, right.value)
        return _made(self.record, operator, (left, right), value)

    def __add__(self, other: Any) -> Expression:
        return self if _is(other, 0) else self._joined("+", self, other)

    def __radd__(self, other: Any) -> Expression:
        return self if _is(other, 0) else self._joined("+", other, self)

    def __sub__(self, other: Any) -> Expression:
        return self._joined("-", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return self._joined("-", other, self)

    def __mul__(self, other: Any) -> Expression:
        short = self._product(other)
        return self._joined("*", self, other) if short is None else short

    def __rmul__(self, other: Any) -> Expression:
        short = self._product(other)
        return self._joined("*", other, self) if short is None else short

    def _product(self, other: Any) -> Expression | None:
        """Return the product if a factor is 0 or 1, and otherwise None."""
        return self if _is(other, 1) else of_number(self.record, 0) if _is(other, 0) else None

    def __truediv__(self, other: Any) -> Expression:
        return self if _is(other, 1) else self._joined("/", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._joined("/", other, self)

    def __neg__(self) -> Expression:
        return _made(self.record, "negative", (self,), None if self.value is None else -self.value)

    def __pow__(self, n: int) -> Expression:
        if n < 0:
            return 1 / self**-n
        return (
            self
            if n == 1
            else _made(self.record, "^", (self, n), None if self.value is None else self.value**n)
        )

    def __matmul__(self, other: Any) -> Any:
        raise Refused("@ is the inner product of points, not of numbers")

    def __le__(self, other: Any) -> Fact:
        return Decided(self._joined("-", other, self))

    def __ge__(self, other: Any) -> Fact:
        return Decided(self._joined("-", self, other))

    def __lt__(self, other: Any) -> Fact:
        return Decided(self._joined("-", other, self), strict=True)

    def __gt__(self, other: Any) -> Fact:
        return Decided(self._joined("-", self, other), strict=True)

    def is_zero(self) -> Fact:
        """Return the fact that the expression is 0."""
        return Decided(self, equation=True)


class Decided(Fact):
    """A comparison that can be used as a number, like Python's truth values, provided that its truth value is known."""

    def __bool__(self) -> bool:
        if not isinstance(self.slack, Symbolic) or self.equation:
            return super().__bool__()
        evaluation = running()
        known = [decided is self for asked, decided in evaluation.now.path if asked is self]
        if known:
            return known[0]
        holds = evaluation.decide()
        smaller: Any = sides_of(self.slack)
        evaluation.add(path=((self, self if holds else Decided(smaller[1] - smaller[0], not self.strict)),))
        return holds

    def exact(self) -> int:
        """Return 1 if the comparison holds, otherwise 0."""
        return int(bool(self))

    def _number(self) -> Expression:
        return of_number(self.slack.record, self.exact())

    def __add__(self, other: Any) -> Any:
        return self._number() + other

    def __sub__(self, other: Any) -> Any:
        return self._number() - other

    def __mul__(self, other: Any) -> Any:
        return self._number() * other

    def __neg__(self) -> Any:
        return -self._number()

    def __radd__(self, other: Any) -> Any:
        return other + self._number()

    def __rsub__(self, other: Any) -> Any:
        return other - self._number()

    __rmul__ = __mul__


class Symbolic(Expression):
    """An expression that depends on a quantity without a value; both branches of a comparison are followed."""

    def is_whole(self) -> bool:
        """Return whether the expression is a symbol that stands for an integer, as the kernel has checked."""
        return True

    def __floordiv__(self, divisor: int) -> Expression:
        return self.record.whole_part(self, divisor)


class Valued(Expression):
    """An expression whose quantities have values; these values decide comparisons."""

    value: int | Fraction

    def decide(self, *, strict: bool, equation: bool) -> bool:
        """Return whether the expression is nonnegative, positive or 0, and store the branch."""
        holds = self.value == 0 if equation else self.value > 0 if strict else self.value >= 0
        self.record.branches.append((Fact(self, strict=strict, equation=equation), holds))
        return holds

    def exact(self) -> int | Fraction:
        """Return the value for use as a number, and store as a branch that the expression has this value."""
        if self.operator != "number":
            gap: Any = self - of_number(self.record, self.value)
            gap.decide(strict=False, equation=True)
        return self.value

    def differs(self) -> bool:
        """Return whether the expression differs from 0, and store the branch."""
        return not self.decide(strict=False, equation=True)

    def __bool__(self) -> bool:
        return self.differs()

    def __eq__(self, other: object) -> bool:
        return bool((self - other).is_zero())

    __hash__ = object.__hash__


class Given(Valued):
    """A number in place of a quantity; a product with 1 is stored as in the source."""


def _made(record: Record, operator: str, parts: tuple[Any, ...], value: int | Fraction | None) -> Expression:
    return (Symbolic if value is None else Valued)(record, operator, parts, value)


def joined(operator: str, *values: Any) -> Expression:
    """Return the smallest or largest of two values, or the absolute value, as an expression without a branch."""
    (record, *_) = (each.record for each in values if isinstance(each, Expression))
    parts = tuple(each if isinstance(each, Expression) else of_number(record, each) for each in values)
    return Symbolic(record, operator, parts, None)


def _is(value: Any, wanted: int) -> bool:
    if type(value) is Valued and value.operator == "number":
        value = value.value
    return not isinstance(value, Abstract) and value == wanted


def plain(holds: Any) -> Any:
    """Return a comparison in the kernel's form; on a path through a branch on this comparison, return True or False."""
    if type(holds) is not Decided:
        return holds
    if any(asked is holds and decided is not holds for asked, decided in running().now.path):
        return False
    return Fact(holds.slack, holds.strict, holds.equation)


def of_number(record: Record, value: Any) -> Expression:
    """Return a number as an expression."""
    exact = number(value)
    return Valued(record, "number", (exact,), exact)


def in_place(record: Record, value: Any) -> Expression:
    """Return a number in place of a quantity; return an expression unchanged."""
    if isinstance(value, Expression):
        return value
    exact = number(value)
    return Given(record, "number", (exact,), exact)


def quantity(record: Record, name: str, value: Any = None) -> Expression:
    """Return the quantity with the given name, and with its value if there is one."""
    return _made(record, "quantity", (name,), None if value is None else number(value))


def sides_of(slack: Any) -> tuple[Any, Any]:
    """Return the larger and the smaller side of a comparison, given their difference."""
    if isinstance(slack, Expression) and slack.operator == "-":
        return slack.parts[0], slack.parts[1]
    return slack, 0


def operands(expression: Expression) -> Iterator[Expression]:
    """Yield the operands that are expressions."""
    return (each for each in expression.parts if isinstance(each, Expression))


def in_order(roots: list[Any], known: Container[int] = ()) -> list[Expression]:
    """Return every expression that occurs in roots, operands first, each once; leave out those in ``known``."""
    seen: dict[int, Expression] = {}
    for root in roots:
        waiting = [(root, False)] if isinstance(root, Expression) else []
        while waiting:
            each, ready = waiting.pop()
            if id(each) in seen or id(each) in known:
                continue
            if ready:
                seen[id(each)] = each
            else:
                waiting += [(each, True), *((part, False) for part in operands(each))]
    return list(seen.values())


def evaluated(roots: Iterable[Expression], values: Mapping[str, Any]) -> dict[int, int | Fraction]:
    """Return the values of expressions and of their operands, by identity, at the given values of the quantities."""
    known: dict[int, Any] = {}
    for node in in_order(list(roots)):
        parts = [known[id(part)] for part in operands(node)]
        if node.operator == "number":
            known[id(node)] = node.value
        elif node.operator == "quantity":
            known[id(node)] = values[node.parts[0]]
        elif node.operator == "negative":
            known[id(node)] = -parts[0]
        else:
            known[id(node)] = (
                parts[0] ** node.parts[1] if node.operator == "^" else OPERATIONS[node.operator](*parts)
            )
    return known
