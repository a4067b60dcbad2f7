"""Multipliers that are quotients of symbols, and the check that they prove an inequality on a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.numbers import add, cost_of_sum, number, words
from clusterproof.checker.kernel.polynomials import Polynomial, constant, divided, of_terms, plus, times
from clusterproof.checker.kernel.positivity import Ends, is_nonnegative, is_positive_semidefinite, sign_of
from clusterproof.checker.kernel.quotients import Fact, Quotient, is_zero, joined
from clusterproof.checker.kernel.worlds import Form

Entries = Mapping[tuple[int, int], Fraction | Quotient]
"""The entries of a symmetric matrix on and above the diagonal; missing entries are 0."""


@dataclass(frozen=True)
class Need:
    """An inequality to prove: under conditions, at least one of several numbers is >= 0 for all values in a box.

    Attributes
    ----------
    slacks
        The numbers: forms, quotients or exact numbers. At least one of them must be >= 0.
    nonnegative, zero
        Conditions that are >= 0, and conditions that are 0, indexed by name.
    vectors
        Number of free vectors.
    boxes
        Boxes of the symbols. The first box contains all values, and each box contains the earlier boxes. A sign may be
        proved on any of these boxes.
    facts
        Known facts about the symbols.
    name
        Name of this part of the proof: a comparison of a loop, such as ``round 2``, or an entry of the line, such as
        ``line 0``.
    instance
        Values of the quantities, which may be symbols.
    """

    slacks: tuple[Any, ...]
    nonnegative: Mapping[str, Form]
    zero: Mapping[str, Form]
    vectors: int
    boxes: Sequence[Sequence[Ends]]
    facts: Sequence[Fact]
    name: str = ""
    instance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Number of symbols."""
        return len(self.boxes[0])

    def sign(self, p: Polynomial) -> int:
        """Return 1 or -1 if a polynomial can be proved positive or negative, otherwise 0."""
        return next(filter(None, (sign_of(p, box, self.facts) for box in self.boxes)), 0)

    def is_nonnegative(self, p: Polynomial) -> bool:
        """Return whether a polynomial can be proved to be at least 0."""
        return any(is_nonnegative(p, box) for box in self.boxes) or self.sign(p) == 1

    def require(self, fact: Fact) -> None:
        """Require that a fact about the symbols can be proved.

        Raises
        ------
        Refused
            If the fact cannot be proved.
        """
        sign = self.sign(fact.slack.bottom)
        top = fact.slack.top if sign == 1 else -fact.slack.top
        holds = self.sign(top) == 1 if fact.strict else self.is_nonnegative(top)
        if not sign or (top if fact.equation else not holds):
            raise Refused("it is not shown of the symbols what the class, a step or an invariant takes")

    def is_at_least_zero(self, value: Fraction | Quotient) -> bool:
        """Return whether a multiplier with a positive denominator can be proved to be at least 0."""
        return self.is_nonnegative(value.top) if type(value) is Quotient else value >= 0

    def quotient(self, value: Any) -> Quotient:
        """Convert a number to a quotient; return a quotient unchanged."""
        if type(value) is Quotient:
            return value
        return Quotient(constant(number(value), self.width), constant(1, self.width), self.width)

    def multiplier(self, code: Any) -> Fraction | Quotient:
        """Decode a multiplier, which is a number or the terms of a numerator and a denominator.

        Raises
        ------
        Refused
            If the denominator cannot be proved positive.
        """
        if type(code) is not tuple:
            return Fraction(code)
        top, bottom = (of_terms(terms, self.width) for terms in code)
        if self.sign(bottom) != 1:
            raise Refused("the denominator of a multiplier is not shown to be positive")
        return Quotient(top, bottom, self.width)


def require_multipliers(need: Need, proof: Mapping[str, Any]) -> None:
    """Require that multipliers prove an inequality.

    Parameters
    ----------
    need
        The inequality to prove.
    proof
        ``multipliers``, indexed by the names of conditions; ``weights`` of the numbers in a ``least``; ``squares``,
        each with the index of a hypothesis about symbols, a factor and a direction; and ``order``, the order in which
        the vectors are eliminated. Factors are quotients.

    Raises
    ------
    Refused
        If the multipliers do not prove the inequality.
    """
    if not _is_positive_semidefinite(remaining(need, proof), need):
        raise Refused("the remaining form is not shown to be positive semidefinite")


def remaining(need: Need, proof: Mapping[str, Any]) -> Entries:
    """Subtract multiples of conditions from a slack; return the entries (row <= column) of the remaining form.

    Parameters
    ----------
    need, proof
        As in ``require_multipliers``. The rows are sorted in the order of the proof.

    Raises
    ------
    Refused
        If function values do not cancel, or if a multiplier may be negative.
    """
    weights = [need.multiplier(code) for code in proof.get("weights", [1])]
    total = reduce(add, weights, Fraction(-1))
    if len(weights) != len(need.slacks) or not is_zero(total) or not all(map(need.is_at_least_zero, weights)):
        raise Refused("the weights of the least are nonnegative and sum to 1")
    rest: dict[Any, Any] = {}
    for slack, weight in zip(need.slacks, weights, strict=True):
        _add(rest, slack.terms if type(slack) is Form else {(): slack}, weight)
    for name, code in proof["multipliers"].items():
        factor = need.multiplier(code)
        if name in need.nonnegative and not need.is_at_least_zero(factor):
            raise Refused(f"the multiplier of {name} is not shown to be nonnegative")
        condition = need.nonnegative[name] if name in need.nonnegative else need.zero[name]
        _add(rest, condition.terms, -factor)
    for square in proof.get("squares", ()):
        _add_square(rest, need, square)
    if any(len(key) != 2 for key, value in rest.items() if not is_zero(value)):
        raise Refused("the function values do not cancel")
    order = proof.get("order", range(need.vectors))
    spend(len(order) + need.vectors)
    if sorted(order) != list(range(need.vectors)):
        raise Refused("an order names each vector once")
    at = {vector: place for place, vector in enumerate(order)}
    return {
        (min(at[i], at[j]), max(at[i], at[j])): value * (2 if i == j else 1)
        for (i, j), value in ((key, value) for key, value in rest.items() if not is_zero(value))
    }


def _add(total: dict[Any, Any], terms: Mapping[Any, Any], factor: Fraction | Quotient) -> None:
    for key, value in terms.items():
        exact = value if type(value) is Quotient else number(value)
        spend(1 + (1 + words(factor)) * (1 + words(exact)))
        entry, old = factor * exact, total.get(key, 0)
        spend(cost_of_sum(old, entry))
        total[key] = joined(old, entry) if key in total else entry


def _add_square(total: dict[Any, Any], need: Need, square: Mapping[str, Any]) -> None:
    """Subtract a nonnegative product of a factor, a hypothesis about symbols, and the square of a direction."""
    place, factor = square["hypothesis"], need.multiplier(square["factor"])
    if place >= len(need.facts) or not need.is_at_least_zero(factor):
        raise Refused("a square is of a hypothesis, and its factor is shown to be nonnegative")
    direction: dict[int, Fraction] = {vector: Fraction(entry) for vector, entry in square["direction"]}
    for (i, a), (j, b) in product(direction.items(), repeat=2):
        _add(total, {(min(i, j), max(i, j)): a * b}, -factor * need.facts[place].slack)


def cleared(several: Entries, need: Need) -> list[list[Polynomial]]:
    """Multiply a symmetric matrix of quotients by the absolute value of its common denominator.

    Raises
    ------
    Refused
        If the sign of the denominator cannot be proved.
    """
    entries = {key: need.quotient(value) for key, value in several.items()}
    common = constant(1, need.width)
    for entry in entries.values():
        if divided(common, entry.bottom) is None:
            common = times(common, entry.bottom) if divided(entry.bottom, common) is None else entry.bottom
    sign = need.sign(common)
    if not sign:
        raise Refused("the sign of a denominator is not shown")
    nothing, found = constant(0, need.width), {}
    for key, entry in entries.items():
        ratio = divided(common, entry.bottom)
        assert ratio is not None
        found[key] = plus(nothing, times(entry.top, ratio), sign)
    return _symmetric(found, nothing)


def _symmetric(entries: Mapping[tuple[int, int], Any], nothing: Any) -> list[list[Any]]:
    """Return a symmetric matrix, given its nonzero entries on and above the diagonal."""
    size = 1 + max((j for _, j in entries), default=-1)
    spend(size**2)
    rows = [[nothing] * size for _ in range(size)]
    for (i, j), entry in entries.items():
        rows[i][j] = rows[j][i] = entry
    return rows


def _is_positive_semidefinite(entries: Entries, need: Need) -> bool:
    """Return whether a symmetric matrix of numbers or polynomials can be proved positive semidefinite.

    The elimination treats each block separately, so that rows of a block are not multiplied by pivots of other blocks.
    """
    if not any(type(entry) is Quotient for entry in entries.values()):
        return is_positive_semidefinite(_symmetric(entries, Fraction(0)))
    rest = cleared(entries, need)
    waiting = [(list(range(len(rest))), constant(1, need.width))]
    while waiting:
        rows, last = waiting.pop()
        for first, *others in blocks(rest, rows):
            pivot = rest[first][first]
            if (others and not pivot) or not need.is_nonnegative(pivot):
                return False
            eliminate(rest, first, others, last)
            waiting.append((others, pivot))
    return True


def blocks(matrix: Sequence[Sequence[Polynomial]], rows: Sequence[int]) -> list[list[int]]:
    """Split rows into blocks, so that the symmetric matrix is 0 between two blocks; rows keep their order."""
    found, left = [], list(rows)
    while left:
        block, more = set[int](), {left[0]}
        while more:
            block |= more
            spend(len(more) * len(left))
            more = {j for j in left for i in more if matrix[i][j]} - block
        found.append([i for i in left if i in block])
        left = [i for i in left if i not in block]
    return found


def eliminate(matrix: list[list[Polynomial]], first: int, others: Sequence[int], last: Polynomial) -> None:
    """Eliminate one row from the others by the method of Bareiss; ``last`` is the previous pivot."""
    pivot = matrix[first][first]
    for place, i in enumerate(others):
        for j in others[place:]:
            minor = plus(times(pivot, matrix[i][j]), times(matrix[first][i], matrix[first][j]), -1)
            found = divided(minor, last)
            assert found is not None  # Sylvester's identity
            matrix[i][j] = matrix[j][i] = found
