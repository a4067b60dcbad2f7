"""Whether a statement's function gives on numbers what it gave on symbols: a proof speaks of no other function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from clusterproof.algorithms.randomness import generator
from clusterproof.theory.checker.instance_words import quantities
from clusterproof.theory.checker.range_ends import Instance
from clusterproof.theory.checker.sampler import evenly
from clusterproof.theory.checker.sides import Outside, Sides
from clusterproof.theory.checker.space import Space
from clusterproof.theory.checker.symbols import Symbol
from clusterproof.theory.checker.ties import COMPARED, same_sides

TRIES, LISTED = 400, 1000
"""Instances that are drawn, and that are listed, at most, until 100 meet the hypotheses."""


def differs(
    space: Space, evaluate: Callable[[Instance], Mapping[str, Any]], formulas: Sequence[tuple[Instance, Any]]
) -> str:
    """Return an instance at which a function and its formula have other sides; empty where none is found.

    Parameters
    ----------
    space
        Of the statement.
    evaluate
        Gives the conclusions by name for an instance.
    formulas
        Conclusions on symbols, with the instance of symbols and choices.
    """
    left = 2 * COMPARED
    for one in _instances(space):
        numbers = [
            Fraction(value) if isinstance(value, int | float | Fraction) else 0 for value in one.values()
        ]
        for symbolic, conclusions in formulas:
            chosen = {name: value for name, value in symbolic.items() if not isinstance(value, Symbol)}
            if any(one[name] != value for name, value in chosen.items()):
                continue
            with suppress(Outside, ZeroDivisionError):
                found = evaluate(one)
                left -= 1
                if found.keys() != conclusions.keys() or not all(
                    same_sides(found[name], [[_at(sides, numbers)]]) for name, sides in conclusions.items()
                ):
                    return quantities(space.encode(one))
        if not left:
            break
    return ""


def _instances(space: Space) -> Iterator[Instance]:
    """Draw instances, and list some."""
    stream = generator(0, "instances of a formula")
    for _ in range(TRIES):
        one: dict[str, Any] = {}
        for name, allowed in space.ranges.items():
            one[name] = evenly(allowed, one, stream)
        if space.holds(one):
            yield one
    yield from (space.instances(LISTED) or ())


def _at(sides: Sides, numbers: Sequence[Any]) -> Sides:
    """Put numbers in the place of the symbols."""

    def value(side: Any) -> Any:
        return side.at(numbers) if isinstance(side, Symbol) else side

    return replace(
        sides,
        measured=[value(gap) for gap in sides.measured] if sides.identity else value(sides.measured),
        terms={name: value(term) for name, term in sides.terms.items()},
        pairs=tuple((value(left), value(right)) for left, right in sides.pairs),
    )
