"""Linear forms in inner products and values: a traced claim's sides, hypotheses and interpolation conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from clusterproof.theory.classes.definitions import Definition, FunctionClass, SetClass
from clusterproof.theory.classes.trace import Trace
from clusterproof.theory.classes.traced_numbers import Least, TracedNumber, TracedPoint


@dataclass(frozen=True, eq=False)
class Form:
    """<matrix, G> + linear @ values, with the constant 1 as last value.

    Attributes
    ----------
    matrix, linear
        (n, n), symmetric, and (q,): floats, or Python's integers in arrays of objects.
    """

    matrix: np.ndarray
    linear: np.ndarray

    def __add__(self, other: Form) -> Form:
        return Form(self.matrix + other.matrix, self.linear + other.linear)

    def __sub__(self, other: Form) -> Form:
        return Form(self.matrix - other.matrix, self.linear - other.linear)

    def __mul__(self, factor: Any) -> Form:
        return Form(self.matrix * factor, self.linear * factor)

    __rmul__ = __mul__

    def at(self, gram: np.ndarray, values: np.ndarray) -> Any:
        """Return the form's value."""
        return (self.matrix * gram).sum() + self.linear @ values

    def only(self, vectors: Sequence[int], values: Sequence[int]) -> Form:
        """Keep the named vectors and values."""
        return Form(self.matrix[np.ix_(vectors, vectors)], self.linear[list(values)])

    @property
    def size(self) -> int:
        """Largest magnitude of an entry, 1 if all are 0."""
        return max(map(abs, (*self.matrix.flat, *self.linear))) or 1

    def over(self, divisor: int) -> Form:
        """Return the form divided by an integer, in floats."""
        if divisor.bit_length() < 1000 and self.size.bit_length() < 1000:
            return Form(self.matrix.astype(float) / divisor, self.linear.astype(float) / divisor)
        divide = np.vectorize(lambda entry: float(Fraction(entry, divisor)), otypes=[float])
        return Form(divide(self.matrix), divide(self.linear))


@dataclass(frozen=True)
class Condition:
    """An interpolation condition of one oracle: its kind, and the triplets that it compares."""

    oracle: int
    kind: str
    first: int
    second: int


class Frame:
    """Points, gradients and values of a trace by their coefficients, as integers.

    Attributes
    ----------
    unit
        Points and gradients are those of the trace times this integer.
    points, gradients, values
        Of each oracle, (triplets, vectors), (triplets, vectors) and (triplets, values).
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.reduction = _reduction(trace)
        points = [self.fractions([t.point for t in oracle.triplets]) for oracle in trace.oracles]
        gradients = [self.fractions([t.gradient for t in oracle.triplets]) for oracle in trace.oracles]
        self.unit = _denominator(*points, *gradients)
        self.points = [_integers(each, self.unit) for each in points]
        self.gradients = [_integers(each, self.unit) for each in gradients]
        self.values = [
            _integers(np.array([self.linear(t.value) for t in oracle.triplets]), 1)
            for oracle in trace.oracles
        ]
        self.least = _integers(self.linear(trace.oracles[0].offset), 1)

    def fractions(self, points: Sequence[TracedPoint]) -> np.ndarray:
        """Return the coefficients of points, (points, vectors)."""
        rows = np.full((len(points), self.trace.vectors), Fraction(0), dtype=object)
        for row, point in enumerate(points):
            for index, entry in point.entries.items():
                rows[row, index] = entry
        if self.reduction is not None:
            rows = rows @ self.reduction
        return rows

    def linear(self, number: TracedNumber) -> np.ndarray:
        """Return the coefficients of a value, (values,), which are integers for a single function."""
        row = np.array([Fraction(0)] * (self.trace.scalars + 1), dtype=object)
        for index, entry in number.values.items():
            row[index] = entry
        return row

    def forms(self, *numbers: TracedNumber | Least) -> tuple[int, list[list[Form]]]:
        """Write numbers, or those of which the least is meant, as forms times one integer, which is returned, too."""
        listed = [each.numbers if isinstance(each, Least) else (each,) for each in numbers]
        fractions = [[self._form(number) for number in group] for group in listed]
        unit = _denominator(
            *(part for group in fractions for form in group for part in (form.matrix, form.linear))
        )
        return unit, [
            [Form(_integers(form.matrix, unit), _integers(form.linear, unit)) for form in group]
            for group in fractions
        ]

    def _form(self, number: TracedNumber) -> Form:
        size = self.trace.vectors
        matrix = np.full((size, size), Fraction(0), dtype=object)
        for (i, j), entry in number.quadratic.items():
            matrix[i, j] += entry / 2
            matrix[j, i] += entry / 2
        if self.reduction is not None:
            matrix = self.reduction.T @ matrix @ self.reduction
        return Form(matrix, self.linear(number))

    def condition(self, condition: Condition, definition: Definition) -> Form:
        """Write a condition, at least 0, as a form times a positive number; ``definition`` may be a smaller class.

        ``conditions`` names the sources.
        """
        k, i, j = condition.oracle, condition.first, condition.second
        x, g, f = self.points[k], self.gradients[k], self.values[k]
        d, r, square = x[i] - x[j], g[i] - g[j], self.unit**2
        none = np.array([0] * f.shape[1], dtype=object)
        constant = none.copy()
        constant[-1] = square
        kind = condition.kind
        if isinstance(definition, FunctionClass):
            q = _denominator_of(definition.curvature, definition.smoothness, definition.lipschitz)
            a = int(q * definition.curvature)
            if kind == "interpolation" and definition.smoothness in (None, definition.curvature):
                matrix = -q * _twice(g[j], d) - a * _square(d)
                return Form(matrix, 2 * q * square * (f[i] - f[j]))
            if kind == "short gradient":
                assert definition.lipschitz is not None
                return Form(-(q**2) * _square(g[i]), constant * int(q * definition.lipschitz) ** 2)
            if kind == "equal gradients":
                return Form(-_square(q * r - a * d), none)
            assert definition.smoothness is not None
            b = int(q * (definition.smoothness - definition.curvature))
            if kind == "above the infimum":
                reach = int(q * definition.smoothness)
                return Form(-q * _square(g[i]), 2 * reach * square * (f[i] - self.least))
            matrix = -b * q * _twice(g[j], d) - a * b * _square(d) - _square(q * r - a * d)
            return Form(matrix, 2 * b * q * square * (f[i] - f[j]))
        if isinstance(definition, SetClass):
            if kind == "normal":
                return Form(-_twice(g[j], d), none)
            q = _denominator_of(definition.diameter)
            assert definition.diameter is not None
            return Form(-(q**2) * _square(d), constant * int(q * definition.diameter) ** 2)
        mu, beta, top = definition.strong_monotonicity, definition.cocoercivity, definition.lipschitz
        q = _denominator_of(mu, beta, top)
        if kind == "monotone":
            return Form(q * _twice(r, d) - 2 * int(q * mu) * _square(d), none)
        if kind == "cocoercive":
            assert beta is not None
            return Form(q * _twice(r, d) - 2 * int(q * beta) * _square(r), none)
        assert top is not None
        return Form(int(q * top) ** 2 * _square(d) - q**2 * _square(r), none)


def conditions(trace: Trace) -> list[Condition]:
    """List the conditions without which no function, set or operator of the classes has a trace's triplets.

    Of smooth (strongly) convex functions: Taylor, Hendrickx, Glineur, Mathematical Programming 161 (2017), Theorem 4;
    of functions that are not convex, Lipschitz functions and indicators: the same authors, SIAM J. Optimization 27
    (2017), Theorems 3.10, 3.5, 3.6; of operators: Ryu, Taylor, Bergeling, Giselsson, SIAM J. Optimization 30 (2020),
    Proposition 2 (all restated).
    """
    listed: list[Condition] = []
    for number, oracle in enumerate(trace.oracles):
        definition, every = oracle.definition, range(len(oracle.triplets))
        ordered = [(i, j) for i in every for j in every if i != j]
        unordered = [(i, j) for i, j in ordered if i < j]
        if isinstance(definition, FunctionClass):
            listed += [Condition(number, "interpolation", i, j) for i, j in ordered]
            if definition.smoothness == definition.curvature:
                listed += [Condition(number, "equal gradients", i, j) for i, j in unordered]
            if definition.lipschitz is not None:
                listed += [Condition(number, "short gradient", i, i) for i in every]
            if not definition.convex:
                listed += [Condition(number, "above the infimum", i, i) for i in every]
        elif isinstance(definition, SetClass):
            listed += [Condition(number, "normal", i, j) for i, j in ordered]
            if definition.diameter is not None:
                listed += [Condition(number, "near", i, j) for i, j in unordered]
        else:
            kinds = {
                "monotone": definition.monotone,
                "cocoercive": definition.cocoercivity is not None,
                "Lipschitz": definition.lipschitz is not None,
            }
            listed += [
                Condition(number, kind, i, j) for kind, has in kinds.items() if has for i, j in unordered
            ]
    return listed


def _twice(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of 2 <first, second>."""
    outer: np.ndarray = np.multiply.outer(first, second)
    both: np.ndarray = outer + outer.T
    return both


def _square(vector: np.ndarray) -> np.ndarray:
    outer: np.ndarray = np.multiply.outer(vector, vector)
    return outer


def _denominator(*arrays: np.ndarray) -> int:
    return lcm(*(entry.denominator for array in arrays for entry in array.flat))


def _denominator_of(*constants: Fraction | None) -> int:
    return lcm(*(constant.denominator for constant in constants if constant is not None))


def _integers(array: np.ndarray, unit: int) -> np.ndarray:
    whole = np.empty(array.shape, dtype=object)
    for place, entry in np.ndenumerate(array):
        whole[place] = int(entry * unit)
    return whole


def _reduction(trace: Trace) -> np.ndarray | None:
    """Return the matrix that writes the free vectors by those that are left once coincident points are equal."""
    if not trace.coincident:
        return None
    size = trace.vectors
    basis = np.array([[Fraction(int(i == j)) for j in range(size)] for i in range(size)], dtype=object)
    for difference in trace.coincident:
        row = np.array([Fraction(0)] * size, dtype=object)
        for index, entry in difference.entries.items():
            row[index] = entry
        row = row @ basis
        pivots = [index for index in range(size) if row[index] != 0]
        if not pivots:
            continue
        pivot = pivots[-1]
        rest = -row / row[pivot]
        rest[pivot] = Fraction(0)
        basis = basis + np.multiply.outer(basis[:, pivot], rest)
        basis[:, pivot] = Fraction(0)
    return basis
