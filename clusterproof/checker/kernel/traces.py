"""Traces, which represent unknown functions of known classes in a statement about all such functions.

The claim's function is evaluated once. Points are linear combinations of free vectors. Numbers are linear combinations
of inner products of these vectors, of function values and of 1. Each requested value becomes a triplet, which satisfies
the conditions of the class and is otherwise arbitrary. At each comparison, the evaluation follows both branches, each
on its own path.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.interpolation import (
    Class,
    FunctionClass,
    OperatorClass,
    Triplet,
    slacks_of,
)
from clusterproof.checker.kernel.numbers import cost_of_sum, words
from clusterproof.checker.kernel.quotients import Fact, Quotient, is_zero, joined
from clusterproof.checker.kernel.worlds import Form, Oracle, Point, World


class Trace(World):
    """Unknown members of known classes, on one path through a claim's function.

    If the trace is ``symbolic``, the coefficients may be symbols.
    """

    def __init__(self, groups: Sequence[tuple[Any, Class]], reach: Any, *, symbolic: bool = False) -> None:
        self.symbolic = symbolic
        self.keyed: list[Point] = []
        super().__init__(groups, reach)
        self.vectors = self.values = 0
        self.further = list[Point]()
        self.origin = origin = self.mean(self.vector())
        self.oracles = traced = [Traced(self, definition) for definition in self.definitions]
        first = self.definitions[0]
        if isinstance(first, FunctionClass) and not first.convex:
            self.start, self.solution, self.minimum = origin, None, traced[0].offset
            return
        self.start, self.solution = origin + self.mean(self.vector()), origin
        total = Point(self, {})
        for place, (oracle, weight) in enumerate(zip(traced, self.weights, strict=True)):
            if isinstance(oracle.definition, OperatorClass) and oracle.definition.has_fixed_point:
                gradient = origin
            else:
                gradient = self.vector() if place + 1 < len(traced) else total * (-1 / weight)
            if self.any_number:  # only the mean of the functions' gradients is 0
                gradient = self.vector()
                gradient = gradient - self.mean(gradient)
            total = total + gradient * weight
            oracle.known[origin.key] = oracle.add(origin, gradient, oracle.offset)
        offsets = [o.offset * w for o, w in zip(traced, self.weights, strict=True)]
        self.minimum = sum(offsets, start=self.constant(0))

    def vector(self) -> Point:
        """Return a new free vector; for an arbitrary number of functions, a shared vector plus one with mean 0."""
        spend(1)
        size = 2 if self.any_number else 1
        self.vectors += size
        return Point(self, {place: Fraction(1) for place in range(self.vectors - size, self.vectors)})

    def value(self) -> Form:
        """Return a new function value."""
        self.values += 1
        return Form(self, {(self.values - 1,): Fraction(1)})

    def point(self) -> Point:
        """Return a new free point."""
        self.further.append(self.origin + self.vector())
        return self.further[-1]

    def exact(self, value: Any) -> Any:
        """Check a factor of a point or form: it must be a number or contain only symbols."""
        return value if type(value) is Quotient and self.symbolic else super().exact(value)

    def key_of(self, point: Point) -> tuple[Any, ...]:
        """Return a key of a point with symbols; points with equal keys are equal for all values of the symbols."""
        for place, other in enumerate(self.keyed):
            if not (point - other).terms:
                return ("with symbols", place)
        self.keyed.append(point)
        return ("with symbols", len(self.keyed) - 1)

    def inner(self, left: Point, right: Point) -> Form:
        """Return an inner product as a linear combination of inner products of free vectors.

        For an arbitrary number of functions, the product of a shared vector and a vector with mean 0 is 0.
        """
        spend(8)
        total: dict[Any, Any] = {}
        lengths = {j: 1 + words(b) for j, b in right.terms.items()}
        for i, a in left.terms.items():
            length = 1 + words(a)
            for j, b in right.terms.items():
                if self.any_number and (i + j) % 2:
                    continue
                pair = (i, j) if i <= j else (j, i)
                old, entry = total.get(pair), a * b
                spend(4 + length * lengths[j] + (0 if old is None else cost_of_sum(old, entry)))
                total[pair] = entry if old is None else joined(old, entry)
        return Form(self, {pair: value for pair, value in total.items() if not is_zero(value)})

    def is_zero(self, point: Point) -> Fact:
        """Return the statement that a point is 0, as a ``Fact``."""
        return Fact(point, equation=True)

    def decide(self, form: Form, strict: bool) -> bool | None:
        """Return whether a constant number is nonnegative, or None if it depends on the functions or on symbols."""
        value = form.terms.get((), Fraction(0))
        if form.terms.keys() <= {()} and type(value) is not Quotient:
            return bool(value > 0 if strict else value >= 0)
        return None

    def asked(self) -> Any:
        """Return the state of all requests so far, as an argument for ``forget``."""
        spend(sum(4 + len(o.triplets) for o in self.oracles) // 8)
        of_oracles = [(list(o.triplets), dict(o.known), dict(o.proximal)) for o in self.oracles]
        return self.vectors, self.values, list(self.further), list(self.keyed), of_oracles

    def forget(self, asked: Any) -> None:
        """Delete all requests after the state ``asked``; the caller must not use newer points or numbers."""
        self.vectors, self.values, further, keyed, of_oracles = asked
        spend(sum(4 + len(triplets) for triplets, _, _ in of_oracles) // 8)
        self.further, self.keyed = list(further), list(keyed)
        for oracle, (triplets, known, proximal) in zip(self.oracles, of_oracles, strict=True):
            oracle.triplets, oracle.known, oracle.proximal = list(triplets), dict(known), dict(proximal)

    def facts(
        self, supposed: Sequence[Fact], decided: Sequence[Fact] = ()
    ) -> tuple[dict[str, Form], dict[str, Form]]:
        """Return two dictionaries, indexed by name: numbers that are at least 0 on this path, and numbers that are 0.

        Parameters
        ----------
        supposed
            The hypotheses of the claim.
        decided
            The branch conditions of this path.
        """
        nonnegative = {"1": self.constant(1)}
        zero: dict[str, Form] = {}
        spend(len(self.oracles))
        for k, oracle in enumerate(self.oracles):
            slacks = slacks_of(oracle.definition, oracle.triplets, self.minimum)
            nonnegative |= {f"{k}:{name}": slack for name, slack in slacks.items()}
        if self.reach is not None and self.solution is not None:
            apart = self.start - self.solution
            nonnegative["reach"] = self.constant(self.reach**2) - apart @ apart
        nonnegative |= {f"fork {n}": form for n, form in enumerate(fact.slack for fact in decided)}
        for n, fact in enumerate(
            fact for fact in supposed if type(fact.slack) is not Quotient
        ):  # facts about symbols alone are used for the box
            if fact.equation and type(fact.slack) is Point:
                for v in range(self.vectors):
                    zero[f"hypothesis {n}, {v}"] = fact.slack @ Point(self, {v: Fraction(1)})
            elif type(fact.slack) is not Form:
                raise Refused("a hypothesis that is not about the functions")
            elif fact.equation:
                zero[f"hypothesis {n}"] = fact.slack
            else:
                nonnegative[f"hypothesis {n}"] = fact.slack
        return nonnegative, zero


class Traced(Oracle):
    """An unknown member of a known class."""

    def __init__(self, trace: Trace, definition: Class) -> None:
        super().__init__(definition)
        self.trace = trace
        self.offset = trace.value() if isinstance(definition, FunctionClass) else trace.constant(0)

    def add(self, point: Point, gradient: Point, value: Form) -> Triplet:
        """Store a triplet, and return it."""
        self.triplets.append((point, gradient, value))
        return self.triplets[-1]

    def _value(self) -> Form:
        return self.offset + self.trace.value() if isinstance(self.definition, FunctionClass) else self.offset

    def at(self, point: Point) -> Triplet:
        """Return a triplet with a new subgradient and a new value."""
        return self.add(point, self.trace.vector(), self._value())

    def implicit(self, point: Point, step: Any) -> Triplet:
        """Return a triplet with a new point; the equation determines its subgradient."""
        if step is None:
            return self.add(self.trace.origin + self.trace.vector(), -point, self._value())
        vector = self.trace.vector()
        return self.add(point - vector * step, vector, self._value())
