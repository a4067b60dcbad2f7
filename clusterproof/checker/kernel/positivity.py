"""Exact proofs that a polynomial is nonnegative on a box, from its coefficients or as a sum of squares.

The module uses three theorems.

*Bernstein's test* (S. Bernstein, 1915): substitute x = (low + high s) / (1 + s), which maps s >= 0 onto low <= x <
high, and multiply by (1 + s)^degree > 0. If no coefficient is negative, the polynomial is nonnegative on this range,
and by continuity also at high. An end may be a quotient of polynomials in earlier symbols whose denominator has one
strict sign on the box; all terms are multiplied by this denominator. If the range has no upper end, substitute x = low
+ s.

*LDL'*: a symmetric matrix is positive semidefinite if and only if elimination without pivoting meets no negative pivot,
and no zero pivot with a nonzero row.

*Positivstellensatz*, the easy half (G. Stengle, 1974): a sum of products of nonnegative polynomials, each times a sum
of squares b' Q b with Q positive semidefinite, is nonnegative.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, product
from typing import Any

from clusterproof.checker.kernel.evaluation import OutOfFuel, Refused, Used, spend
from clusterproof.checker.kernel.numbers import number, words
from clusterproof.checker.kernel.polynomials import (
    Polynomial,
    constant,
    divided,
    of_terms,
    plus,
    raised,
    times,
)
from clusterproof.checker.kernel.quotients import Fact, Quotient

MAY_BE_ZERO = "a divisor may be zero: where it is used, neither its range nor a hypothesis gives its sign"
Ends = tuple[Any, Any]
"""Smallest and largest value of a symbol: a number, a quotient of earlier symbols, or None for no limit."""


def _end(value: Any, width: int, earlier: Sequence[Ends]) -> tuple[Polynomial, Polynomial]:
    """Return numerator and denominator of an end; the denominator is positive on the box of the earlier symbols."""
    one = constant(1, width)
    if type(value) is not Quotient:
        return constant(number(value), width), one
    if value.bottom == one:
        return value.top, one
    sign = sign_of(value.bottom, earlier)
    if not sign:
        raise Refused("an end of a range divides by what may be zero")
    return (value.top, value.bottom) if sign == 1 else (-value.top, -value.bottom)


def before(box: Sequence[Ends], place: int) -> list[Ends]:
    """Return the box of the symbols before an index; all other symbols are unbounded."""
    return [*box[:place], *[(None, None)] * (len(box) - place)]


def on_box(p: Polynomial, box: Sequence[Ends]) -> tuple[Polynomial, list[set[int]]] | None:
    """Rewrite a polynomial in variables s >= 0, one for each symbol (Bernstein).

    Returns
    -------
    tuple
        The polynomial in s, and for each symbol the exponents that correspond to its ends. The result is None if an
        unbounded symbol occurs.
    """
    width = len(box)
    spend(width >> 3)
    corners: list[set[int]] = [{0}] * width
    named = p.places
    for place in reversed(range(width)):  # ends contain only earlier symbols
        if place not in named:
            continue
        parts = p.parts(place)
        degree = max(parts)
        low, high = box[place]
        if low is None and high is None:
            return None
        s = Quotient.symbol(place, width).top
        earlier = before(box, place)
        if low is None or high is None:
            top, outer = _end(high if low is None else low, width, earlier)
            inner = plus(top, times(outer, s), -1 if low is None else 1)
        else:
            (top, below), (top_of_high, below_high) = (_end(end, width, earlier) for end in (low, high))
            inner = plus(times(top, below_high), times(times(top_of_high, below), s))
            outer = times(times(below, below_high), plus(constant(1, width), s))
            corners[place] = {0, degree}
        total = constant(0, width)
        for n, part in parts.items():
            factor = times(raised(inner, n, width), raised(outer, degree - n, width))
            total = plus(total, times(part, factor))
        p, named = total, total.places
    return p, corners


def is_nonnegative(p: Polynomial, box: Sequence[Ends], *, strictly: bool = False) -> bool:
    """Return whether the coefficients prove that a polynomial is >= 0 on a box (or > 0, if ``strictly``).

    The polynomial is positive if the coefficients of all corners are positive. At each point of the box, including its
    boundary, at least one term with such a coefficient is positive.
    """
    found = on_box(p, box)
    if found is None or any(numerator < 0 for numerator in found[0].numerators.values()):
        return False
    return not strictly or all(found[0].get(corner, 0) > 0 for corner in product(*found[1]))


def sign_of(p: Polynomial, box: Sequence[Ends], facts: Sequence[Fact] = ()) -> int:
    """Return 1 or -1 if a polynomial can be proved positive or negative on a box, otherwise 0.

    The sign follows from the coefficients, or from a strict hypothesis q > 0. In the second case, the polynomial is a
    multiple of q, or it is c q^n + r or -(c q^n + r), where c > 0, n > 0, and r is nonnegative on the box.
    """
    if not p:
        return 0
    if p.numerators.keys() == {0}:  # a number
        return 1 if p.numerators[0] > 0 else -1
    if is_nonnegative(p, box, strictly=True):
        return 1
    if is_nonnegative(-p, box, strictly=True):
        return -1
    for fact in facts:
        spend(1 + len(p.numerators) // 8)
        if fact.strict and (ratio := _ratio(p, fact.slack.top)):
            return sign_of(fact.slack.bottom, box) * (1 if ratio > 0 else -1)
        if fact.strict and fact.slack.top.places and (rest := divided(p, fact.slack.top)) is not None:
            return sign_of(fact.slack.bottom, box) * sign_of(rest, box, facts)
    return next(filter(None, (_sign_of_sum(p, fact.slack, box) for fact in facts if fact.strict)), 0)


def _sign_of_sum(p: Polynomial, positive: Quotient, box: Sequence[Ends]) -> int:
    """Return 1 or -1 if p or -p is c q^n + r with c > 0, n > 0, q > 0 and r >= 0; otherwise return 0."""
    spend((len(p) + len(positive.top)) * p.width)
    sign, degree = sign_of(positive.bottom, box), max(map(sum, p))
    top = positive.top if sign == 1 else -positive.top
    most = degree // max(map(sum, top)) if sign and top.places else 0
    for power in (raised(top, n, top.width) for n in range(1, most + 1)):
        for powers, value in power.items():
            factor = p.get(powers, Fraction(0)) / value
            rest = plus(p, power, -factor)
            if factor and is_nonnegative(rest if factor > 0 else -rest, box):
                return 1 if factor > 0 else -1
    return 0


def _ratio(p: Polynomial, q: Polynomial) -> Fraction | None:
    """Return the number c with p = c q, or None if no such number exists."""
    if not q or p.numerators.keys() != q.numerators.keys():
        return None
    first, *others = {Fraction(value, q.numerators[powers]) for powers, value in p.numerators.items()}
    return None if others else first * Fraction(q.denominator, p.denominator)


def slack_of(quotient: Quotient, box: Sequence[Ends], facts: Sequence[Fact] = ()) -> Polynomial:
    """Return a polynomial with the same sign as a quotient: its numerator times the sign of its denominator.

    Raises
    ------
    Refused
        If the sign of the denominator cannot be proved.
    """
    sign = sign_of(quotient.bottom, box, facts)
    if not sign:
        raise Refused("the sign of a denominator is not shown")
    return quotient.top if sign == 1 else -quotient.top


def bounded(box: Sequence[Ends], facts: Sequence[Fact], places: Collection[int]) -> list[Ends]:
    """Add ends that follow from facts to the box, for some symbols; these ends are polynomials in earlier symbols."""
    found, width = list(box), len(box)
    for fact in facts:
        spend(1)
        try:
            p = slack_of(fact.slack, found)
        except OutOfFuel:
            raise
        except Refused:
            continue
        last = max(p.places, default=-1)
        if last not in places or (solved := p.solved(last)) is None:
            continue
        factor, rest = solved
        end = Quotient(rest, constant(1, width), width)
        low, high = found[last]
        if factor > 0 and low is None:
            found[last] = end, high
        elif factor < 0 and high is None:
            found[last] = low, end
    return found


def by_place(
    several: Iterable[Used], later: Sequence[Fact] | None
) -> Iterator[tuple[list[Fact], Iterator[Any]]]:
    """Group used divisors or facts by the place where they are used, with the facts about symbols known there."""
    for _, group in groupby(several, lambda used: (id(used.facts), id(used.path))):
        first, *others = group
        facts = [fact for fact in first.known(later) if type(fact.slack) is Quotient]
        yield facts, (used.what for used in (first, *others))


def require_divisors(
    divisors: Iterable[Used], later: Sequence[Fact] | None, box: Sequence[Ends], places: Collection[int]
) -> None:
    """Require that coefficients or strict hypotheses prove the sign of each divisor where it is used.

    Parameters
    ----------
    divisors
        The divisors, each with the facts known where it is used.
    later
        Facts that still hold later, or None if all facts may be used.
    box
        Ends of the symbols.
    places
        Indices of the symbols whose ends may follow from facts.

    Raises
    ------
    Refused
        If a divisor may be zero.
    """
    for facts, several in by_place(divisors, later):
        own = bounded(box, facts, places)
        if not all(sign_of(divisor.top, own, facts) for divisor in several):
            raise Refused(MAY_BE_ZERO)


def is_positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Return whether a symmetric matrix of fractions is positive semidefinite, by LDL'."""
    rest = [list(row) for row in matrix]
    if any(len(row) != len(rest) for row in rest):
        return False
    if any(rest[i][j] != rest[j][i] for i in range(len(rest)) for j in range(i)):
        return False
    while rest:
        (pivot, *row), *below = rest
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        rest = [
            [_eliminated(e, row[i], row[j], pivot) for j, e in enumerate(r[1:])] for i, r in enumerate(below)
        ]
    return True


def _eliminated(entry: Fraction, left: Fraction, right: Fraction, pivot: Fraction) -> Fraction:
    if not left or not right:
        spend(1)
        return entry
    of_product = words(left) + words(right)
    spend(2 + 4 * words(left) * words(right) + (1 + of_product) * (1 + words(pivot) + words(entry)))
    return entry - left * right / pivot


def is_sum_of_squares(
    target: Polynomial, nonnegative: Sequence[Polynomial], blocks: Sequence[Mapping[str, Any]], width: int
) -> bool:
    """Return whether a polynomial is a sum of terms (product of nonnegative polynomials) * (b' Q b).

    This is the easy half of the Positivstellensatz.

    Parameters
    ----------
    target
        The polynomial.
    nonnegative
        Polynomials that are nonnegative because of the box or a hypothesis.
    blocks
        One block per term: ``factors`` contains indices in ``nonnegative``, ``basis`` the polynomials b as lists of
        exponents with coefficients, and ``matrix`` the matrix Q.
    width
        Number of symbols.
    """
    total = constant(0, width)
    for block in blocks:
        basis = [of_terms(terms, width) for terms in block["basis"]]
        matrix = [[Fraction(entry) for entry in row] for row in block["matrix"]]
        if len(basis) != len(matrix) or not is_positive_semidefinite(matrix):
            return False
        square = constant(0, width)
        for (i, left), (j, right) in product(enumerate(basis), repeat=2):
            if matrix[i][j]:
                square = plus(square, times(left, right), matrix[i][j])
        for place in block["factors"]:
            if not 0 <= place < len(nonnegative):
                raise Refused("a block with an unknown factor")
            square = times(square, nonnegative[place])
        total = plus(total, square)
    return total == target
