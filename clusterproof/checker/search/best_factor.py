"""The best constant factor of a bound, as a formula in the quantities of the claim.

The module solves a semidefinite program at each point of a grid of parameters. The solution is the smallest factor with
which every function of the class satisfies the bound; the program treats this factor as one more multiplier. The module
then looks for a simple quotient that has these values on the grid. This quotient is only a candidate: before a command
prints it, the command checks the claim with this factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.freeze import Frozen
from clusterproof.checker.kernel import Refused, Statement
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.multipliers import Need
from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.checker.kernel.vocabulary import EXACT, Sides
from clusterproof.checker.kernel.worlds import Form
from clusterproof.checker.search.exact_algebra import factors_of
from clusterproof.checker.search.families import NotShown, traced
from clusterproof.checker.search.family_programs import Point, Programs, TooManyPrograms, polynomial_at
from clusterproof.checker.search.quotients_between import Quotients

FACTOR = "factor"
"""Name of the condition whose multiplier is the factor."""
NEAR = 3e-5
"""Largest relative difference between a quotient and the factors that the solver computes."""


def best_factor(frozen: Frozen, of: str, *, least: bool) -> str | None:
    """Return a formula for the best factor of a bound or of one of its terms, or None if no simple formula fits.

    Parameters
    ----------
    frozen
        A claim about a function of a class.
    of
        Name of the term, which must occur in exactly one line. An empty string stands for the whole bound of a claim
        with one line.
    least
        Whether a smaller factor is better; otherwise a larger factor is better.
    """
    words = {**WORDS, "at_most": _split(EXACT.at_most, of), "at_least": _split(EXACT.at_least, of)}
    with suppress(Refused, TooManyPrograms, np.linalg.LinAlgError):
        statements = [frozen.statement(name, words) for name in frozen.lines if name not in frozen.outside]
        several = [_need_with_factor(each, line, of) for each in statements for line in each.lines]
        found = [need for need in several if need is not None]
        return _fitted(found[0], least=least) if len(found) == 1 else None
    return None


def _fitted(need: Need, *, least: bool) -> str | None:
    """Return the formula of a quotient that equals the best factor at every grid point, or None if none is found."""
    programs = Programs(need)
    count, place = len(programs.conditions), list(programs.conditions).index(FACTOR)
    cost = np.zeros(count)
    cost[place] = 1.0 if least else -1.0
    table = programs.table(cost, range(count), {})
    if table is None:
        return None
    factors = table[:, place]
    room = NEAR * (1 + np.abs(factors))
    quotients = Quotients(need, programs.points, programs.forms)
    low, high = factors - room, factors + room
    ratio = quotients.between(low, high)
    if ratio is None and (low > 0).all() and (inverse := quotients.between(1 / high, 1 / low)) is not None:
        ratio = inverse[1], inverse[0]
    if ratio is None or not (ratio[0].places or ratio[1].places):
        return None
    names = {max(v.top.places): name for name, v in need.instance.items() if type(v) is Quotient}
    if not {*ratio[0].places, *ratio[1].places} <= names.keys():
        return None  # the factor depends on a state of a loop
    return _formula(ratio, programs.points[0], names)


def _need_with_factor(statement: Statement, line: str, of: str) -> Need | None:
    """Return the inequality to prove for a line with an unknown factor on one term of the bound, or None.

    Invariants of loops have no such factor.
    """
    try:
        _, found = traced(statement, line)
        rest, term = (need for _, need in found if need.name.startswith("line"))
    except (NotShown, ValueError):
        return None
    (slack,), (scaled,) = rest.slacks, term.slacks
    if type(slack) is not Form or type(scaled) is not Form or not scaled.terms:
        return None
    return replace(rest, nonnegative={FACTOR: -scaled, **rest.nonnegative})


def _split(compare: Callable[..., Sides], of: str) -> Callable[..., Sides]:
    """Replace a comparison by one with two slacks: the slack without the term, and the term alone."""

    def split(measured: Any, *allowed: Any, words: Any = None, **terms: Any) -> Sides:
        if of:
            several = compare(measured, *allowed, **{**terms, of: 0 * terms[of]}), compare(0, terms[of])
        else:
            several = compare(measured, 0), compare(0, *allowed, **terms)
        return Sides(tuple(slack for sides in several for slack in sides.slacks))

    return split


def _formula(ratio: tuple[Polynomial, Polynomial], at: Point, names: Mapping[int, str]) -> str:
    """Format a quotient with the names of its symbols; the sign of each factor is chosen so that it is positive."""
    number, texts = Fraction(1), []
    for p, own in zip(ratio, (1, -1), strict=True):
        size, factors = factors_of(p)
        number *= size**own
        parts = []
        for factor, power in factors:
            is_positive = polynomial_at(factor, at) > 0
            number *= 1 if is_positive or power % 2 == 0 else -1
            text = _sum(factor if is_positive else -factor, names)
            parts.append(f"({text})" if len(factor) > 1 else text)
            parts[-1] += f"**{power}" if power > 1 else ""
        texts.append(parts)
    top, bottom = (
        [*([str(n)] if n != 1 else []), *parts] or ["1"]
        for n, parts in zip((number.numerator, number.denominator), texts, strict=True)
    )
    below = "*".join(bottom)
    above = "*".join(top)
    return above if bottom == ["1"] else f"{above} / {below if len(bottom) == 1 else f'({below})'}"


def _sum(p: Polynomial, names: Mapping[int, str]) -> str:
    """Format a polynomial with integer coefficients: positive terms come first, and terms are sorted by degree."""
    text = ""
    for powers, value in sorted(p.items(), key=lambda term: (term[1] < 0, sum(term[0]), term[0])):
        several = [
            f"{names[n]}**{power}" if power > 1 else names[n] for n, power in enumerate(powers) if power
        ]
        size = [str(abs(value))] if abs(value) != 1 or not several else []
        sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
        text += sign + "*".join([*size, *several])
    return text
