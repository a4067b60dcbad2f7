"""The entries of a line on one path of the program, as input for searches for multipliers and worst functions.

A form is a linear combination of inner products of free vectors, with keys (i, j), of function values, with keys (k,),
and of the constant 1, with the key (). The kernel computes all forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker import kernel
from clusterproof.checker.kernel.evaluation import Context, Evaluation, Outside, limited
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import Class, slacks_of
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.vocabulary import Sides
from clusterproof.checker.kernel.worlds import Form, Point

Terms = Mapping[Any, Fraction]
Conditions = Mapping[str, Terms]


@dataclass(frozen=True, eq=False)
class Path:
    """One entry of a line on one path.

    Attributes
    ----------
    trace
        The kernel's trace of this path: all requested points, gradients and values.
    slacks
        Forms; at least one of them must be nonnegative.
    bound
        The bound, by which ratios are divided, or None if unknown.
    nonnegative, zero
        Conditions that are nonnegative, and conditions that are 0, indexed by the kernel's names.
    vanishing
        Points that a hypothesis sets to 0.
    """

    trace: Trace
    slacks: tuple[Terms, ...]
    bound: Terms | None
    nonnegative: Conditions
    zero: Conditions
    vanishing: tuple[Terms, ...]

    def smaller(self, definitions: Sequence[Class]) -> Path:
        """Return the path with the conditions of the given, smaller classes."""
        changed = dict(self.nonnegative)
        for k, (oracle, definition) in enumerate(zip(self.trace.oracles, definitions, strict=True)):
            slacks = slacks_of(definition, oracle.triplets, self.trace.minimum)
            changed |= {f"{k}:{name}": slack.terms for name, slack in slacks.items()}
        return replace(self, nonnegative=changed)


def settings_of(statement: kernel.Statement, most: int) -> list[Instance] | None:
    """Return all values of the quantities except the function, or None if there are more than ``most``."""
    found: list[Instance] = []
    try:
        for setting in statement.space.every(left_out=statement.space.function):
            if len(found) == most:
                return None
            found.append(setting)
    except kernel.Refused:
        return None
    return found


def paths_of(
    statement: kernel.Statement, setting: Instance, *, bounds: bool = False
) -> list[dict[str, list[Path]]]:
    """Return, for every path at one setting, the entries of each line, indexed by the line's name.

    Parameters
    ----------
    statement
        A statement of the language.
    setting
        Values of all quantities except the function of a class.
    bounds
        Whether each line returns its slacks followed by the same number of bounds.

    Raises
    ------
    Refused
        If the kernel cannot evaluate the function on symbols.
    """
    name = statement.space.function
    if name is None:
        raise kernel.Refused("no quantity is of a class")
    of_class: Any = statement.space.ranges[name]
    found = []
    decisions: list[bool] | None = []
    while decisions is not None:
        with limited():
            record, trace = Evaluation(decisions=decisions), of_class.trace(setting)
            with suppress(Outside):
                lines, _ = statement.evaluated({**setting, name: problem(trace)}, record)
                found.append(
                    {
                        line: entries_of(trace, sides, record.now, bounds=bounds)
                        for line, sides in lines.items()
                        if type(sides) is Sides
                    }
                )
            decisions = record.next_decisions()
    return found


def entries_of(trace: Trace, sides: Sides, known: Context, *, bounds: bool) -> list[Path]:
    """Return the entries of a line on a path on which some facts are known; ``bounds`` is as in ``paths_of``."""
    if sides.equation:
        raise kernel.Refused("an equation: multipliers show inequalities")
    facts = [*known.facts, *sides.facts]
    nonnegative, zero = trace.facts(facts, [fact for _, fact in known.path])
    points = [fact.slack for fact in facts if fact.equation and type(fact.slack) is Point]
    of_points = tuple(part.terms for point in points for part in trace.parts(point))
    size = len(sides.slacks) // 2 if bounds else len(sides.slacks)
    return [
        Path(
            trace,
            tuple(_terms(each) for each in (slack if type(slack) is tuple else (slack,))),
            _terms(sides.slacks[size + place]) if bounds else None,
            {name: form.terms for name, form in nonnegative.items()},
            {name: form.terms for name, form in zero.items()},
            of_points,
        )
        for place, slack in enumerate(sides.slacks[:size])
    ]


def _terms(number: Any) -> Terms:
    if type(number) is Form:
        return number.terms
    return {(): Fraction(number)} if number else {}


def sum_of(several: Sequence[tuple[Fraction | int, Terms]]) -> dict[Any, Fraction]:
    """Return a linear combination of forms."""
    total: dict[Any, Fraction] = {}
    for factor, terms in several:
        for key, value in terms.items():
            total[key] = total.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in total.items() if value}


def size_of(terms: Terms) -> Fraction:
    """Return the largest magnitude of a coefficient, or 1 if there are no coefficients."""
    return max(map(abs, terms.values()), default=Fraction(1))


class Coordinates:
    """A numbering of the vectors and function values that occur in some forms."""

    def __init__(self, several: Sequence[Terms]) -> None:
        keys = {key for terms in several for key in terms}
        self.vectors = {v: n for n, v in enumerate(sorted({v for key in keys if len(key) == 2 for v in key}))}
        linear = sorted(key for key in keys if len(key) == 1)
        self.linear = {key: n for n, key in enumerate([*linear, ()])}

    def matrix(self, terms: Terms) -> np.ndarray:
        """Return the symmetric matrix of a form's inner products, in floats."""
        found = np.zeros((len(self.vectors), len(self.vectors)))
        for key, value in terms.items():
            if len(key) == 2:
                i, j = self.vectors[key[0]], self.vectors[key[1]]
                found[i, j] += float(value) / 2
                found[j, i] += float(value) / 2
        return found

    def others(self, terms: Terms) -> np.ndarray:
        """Return a form's coefficients of the function values, followed by its constant, in floats."""
        found = np.zeros(len(self.linear))
        for key, value in terms.items():
            if len(key) != 2:
                found[self.linear[key]] = float(value)
        return found

    def exact(self, terms: Terms) -> list[list[Fraction]]:
        """Return the symmetric matrix of a form's inner products, in fractions."""
        found = [[Fraction(0)] * len(self.vectors) for _ in self.vectors]
        for key, value in terms.items():
            if len(key) == 2:
                i, j = self.vectors[key[0]], self.vectors[key[1]]
                found[i][j] += value / 2
                found[j][i] += value / 2
        return found

    def times(self, terms: Terms, direction: Sequence[Fraction]) -> list[Fraction]:
        """Return the product of a form's matrix and a vector."""
        found = [Fraction(0)] * len(self.vectors)
        for key, value in terms.items():
            if len(key) == 2:
                i, j = self.vectors[key[0]], self.vectors[key[1]]
                found[i] += value / 2 * direction[j]
                found[j] += value / 2 * direction[i]
        return found

    def direction(self, point: Terms) -> list[Fraction]:
        """Return the coefficients of a point as a vector."""
        return [point.get(v, Fraction(0)) for v in self.vectors]
