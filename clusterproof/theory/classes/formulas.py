"""Functions given by formulas, evaluated exactly: values, subgradients and proximal points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar

from flint import fmpq

from clusterproof.theory.classes.piecewise import Piecewise, signed_sum
from clusterproof.theory.classes.quadratic_program import least_weights
from clusterproof.theory.classes.vectors import Vector, combination, inner
from clusterproof.theory.squares.exact import Rational


class Formula(ABC):
    """A function, the indicator of a set, or an operator, evaluated in ``fmpq``; a frozen dataclass."""

    kind: ClassVar[str]

    @abstractmethod
    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        """Return a subgradient and the value at x; of an operator its image, and 0."""

    @abstractmethod
    def proximal(self, x: Vector, step: Rational) -> Vector:
        """Return y = x - step g, with g in the subdifferential at y; of an operator its image at y."""

    def minimise_linear(self, direction: Vector) -> Vector:
        """Return a point of a set at which <direction, .> is least."""
        raise NotImplementedError(self.kind)

    @abstractmethod
    def text(self) -> str:
        """Return one line for a reader."""

    def to_json(self) -> dict[str, Any]:
        """Return the kind and the fields, every number as the text of a fraction."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # every formula is a dataclass
        return {"kind": self.kind, **{name: _encoded(getattr(self, name)) for name in names}}

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Formula:
        """Return what ``to_json`` wrote."""


@dataclass(frozen=True)
class Separable(Formula):
    """Sum of phi_j(<q_j, x>), with piecewise quadratic phi_j: a quadratic, if each has one piece.

    Attributes
    ----------
    basis
        q, orthonormal, as many vectors as there are dimensions.
    parts
        phi.
    """

    kind: ClassVar[str] = "separable"
    basis: tuple[Vector, ...]
    parts: tuple[Piecewise, ...]

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        results = [part.evaluate(inner(q, x)) for q, part in zip(self.basis, self.parts, strict=True)]
        gradients = [gradient for gradient, _ in results]
        return combination(gradients, self.basis), sum((value for _, value in results), fmpq(0))

    def proximal(self, x: Vector, step: Rational) -> Vector:
        pairs = zip(self.basis, self.parts, strict=True)
        return combination([part.proximal(inner(q, x), step) for q, part in pairs], self.basis)

    def text(self) -> str:
        if len(self.parts) == 1:
            return self.parts[0].text()
        if any(part.breaks for part in self.parts):
            terms = " + ".join(f"phi_{j}(<{q}, x>)" for j, q in enumerate(self.basis, 1))
            return f"{terms}; " + "; ".join(f"phi_{j}: {part.text()}" for j, part in enumerate(self.parts, 1))
        pieces = [part.pieces[0] for part in self.parts]
        columns = [
            combination(
                [a * q._entries[i] for (a, _, _), q in zip(pieces, self.basis, strict=True)], self.basis
            )
            for i in range(len(self.basis))
        ]
        gradient = combination([b for _, b, _ in pieces], self.basis)
        linear = [(fmpq(1), "1/2 <x, H x>"), (fmpq(any(gradient._entries)), f"<{gradient}, x>")]
        constant = sum((c for _, _, c in pieces), fmpq(0))
        return f"{signed_sum([*linear, (constant, '')])}, H = {listed(columns)}"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Separable:
        parts = [
            Piecewise(numbers(part["breaks"]), tuple([(a, b, c) for a, b, c in map(numbers, part["pieces"])]))
            for part in data["parts"]
        ]
        return cls(vectors(data["basis"]), tuple(parts))


@dataclass(frozen=True)
class Maximum(Formula):
    """mu/2 |x|^2 + max over i of <slope_i, x> + offset_i.

    Attributes
    ----------
    curvature
        mu >= 0.
    gradients, offsets
        Of the affine functions.
    """

    kind: ClassVar[str] = "maximum"
    curvature: Rational
    gradients: tuple[Vector, ...]
    offsets: tuple[Rational, ...]

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        affine = [
            inner(gradient, x) + offset for gradient, offset in zip(self.gradients, self.offsets, strict=True)
        ]
        active = max(range(len(affine)), key=affine.__getitem__)
        return self.gradients[active] + self.curvature * x, self.curvature * inner(x, x) / 2 + affine[active]

    def proximal(self, x: Vector, step: Rational) -> Vector:
        # y = (x / step - sum a_i slope_i) / (mu + 1 / step), where the weights a solve the dual
        total = self.curvature + 1 / step
        weights = least_weights(self.gradients, [-offset for offset in self.offsets], x / step, 1 / total)
        result: Vector = (x / step - combination(weights, self.gradients)) / total
        return result

    def text(self) -> str:
        return _with_square(self.curvature, _affine_maximum(self.gradients, self.offsets))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Maximum:
        return cls(fmpq(data["curvature"]), vectors(data["gradients"]), numbers(data["offsets"]))


@dataclass(frozen=True)
class SmoothMaximum(Formula):
    """The Moreau envelope, min over y of max_i (<slope_i, y> + offset_i) + L/2 |x - y|^2.

    It is convex, L-smooth, and its gradients are convex combinations of those of the affine functions.

    Attributes
    ----------
    smoothness
        L.
    gradients, offsets
        Of the affine functions.
    """

    kind: ClassVar[str] = "smooth maximum"
    smoothness: Rational
    gradients: tuple[Vector, ...]
    offsets: tuple[Rational, ...]

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        # the dual: the largest <x, g> - |g|^2 / (2 L) + sum a_i offset_i with g = sum a_i slope_i
        weights = self._weights(x, 1 / self.smoothness)
        gradient = combination(weights, self.gradients)
        offset = sum((a * b for a, b in zip(weights, self.offsets, strict=True)), fmpq(0))
        return gradient, inner(x, gradient) - inner(gradient, gradient) / (2 * self.smoothness) + offset

    def proximal(self, x: Vector, step: Rational) -> Vector:
        # the envelope of an envelope: 1/L + step in place of 1/L
        result: Vector = x - step * combination(self._weights(x, 1 / self.smoothness + step), self.gradients)
        return result

    def _weights(self, x: Vector, step: Rational) -> list[Rational]:
        return least_weights(self.gradients, [-offset for offset in self.offsets], x / step, step)

    def text(self) -> str:
        if self.gradients[0].dimension == 1:
            points = [gradient / self.smoothness for gradient in self.gradients]
            costs = [-offset for offset in self.offsets]
            return _pieces(self, points, costs, self.smoothness, (fmpq(0), self.smoothness))
        return f"min over y of {_affine_maximum(self.gradients, self.offsets, 'y')} + {self.smoothness / 2} |x - y|^2"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SmoothMaximum:
        return cls(fmpq(data["smoothness"]), vectors(data["gradients"]), numbers(data["offsets"]))


@dataclass(frozen=True)
class Envelope(Formula):
    """mu/2 |x|^2 + the least K/2 |x - sum a_i z_i|^2 + sum a_i c_i with weights a >= 0 of sum 1.

    The minimum is the infimal convolution of a convex function with K/2 |.|^2: convex and K-smooth.

    Attributes
    ----------
    curvature
        mu, which may be negative.
    smoothing
        K > 0.
    points, costs
        z and c.
    """

    kind: ClassVar[str] = "envelope"
    curvature: Rational
    smoothing: Rational
    points: tuple[Vector, ...]
    costs: tuple[Rational, ...]

    def evaluate(self, x: Vector) -> tuple[Vector, Rational]:
        weights = least_weights(self.points, self.costs, x, self.smoothing)
        rest = x - combination(weights, self.points)
        cost = sum((a * c for a, c in zip(weights, self.costs, strict=True)), fmpq(0))
        value = (self.curvature * inner(x, x) + self.smoothing * inner(rest, rest)) / 2 + cost
        return self.curvature * x + self.smoothing * rest, value

    def proximal(self, x: Vector, step: Rational) -> Vector:
        # y = (K w + x / step) / (mu + K + 1 / step) with w = sum a_i z_i; with this y, a program in a is left
        outer = self.curvature + 1 / step
        total = outer + self.smoothing
        weights = least_weights(self.points, self.costs, x / (step * outer), self.smoothing * outer / total)
        result: Vector = (self.smoothing * combination(weights, self.points) + x / step) / total
        return result

    def text(self) -> str:
        mu, K = self.curvature, self.smoothing
        if self.points[0].dimension == 1:
            return _pieces(self, self.points, self.costs, K, (mu + K, mu))
        smallest = f"min over a >= 0, sum 1, of {K / 2} |x - sum a_i z_i|^2 + sum a_i c_i"
        return f"{_with_square(mu, smallest)}, z = {listed(self.points)}, c = {listed(self.costs)}"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Envelope:
        mu, K = fmpq(data["curvature"]), fmpq(data["smoothing"])
        return cls(mu, K, vectors(data["points"]), numbers(data["costs"]))


def numbers(texts: Iterable[str]) -> tuple[Rational, ...]:
    """Read fractions."""
    return tuple([fmpq(text) for text in texts])


def vectors(rows: Iterable[Iterable[str]]) -> tuple[Vector, ...]:
    """Read vectors of fractions."""
    return tuple([Vector(numbers(row)) for row in rows])


def listed(items: Iterable[Any]) -> str:
    """Return numbers as "[1, 2]", vectors as "[[1, 2], [3, 4]]"."""
    return "[" + ", ".join(listed(x._entries) if isinstance(x, Vector) else str(x) for x in items) + "]"


def _encoded(value: Any) -> Any:
    if isinstance(value, Vector):
        return _encoded(value._entries)
    if isinstance(value, Piecewise):
        return {"breaks": _encoded(value.breaks), "pieces": _encoded(value.pieces)}
    if isinstance(value, Formula):
        return value.to_json()
    return [_encoded(item) for item in value] if isinstance(value, tuple) else str(value)


def _with_square(mu: Rational, text: str) -> str:
    """Return mu/2 |x|^2 + what a text says."""
    return signed_sum([(mu / 2, "|x|^2"), (fmpq(1), text)])


def _affine_maximum(gradients: Sequence[Vector], offsets: Sequence[Rational], variable: str = "x") -> str:
    def affine(gradient: Vector, offset: Rational) -> str:
        if gradient.dimension == 1:
            return signed_sum([(*gradient._entries, variable), (offset, "")])
        return signed_sum([(fmpq(any(gradient._entries)), f"<{gradient}, {variable}>"), (offset, "")])

    texts = [affine(gradient, offset) for gradient, offset in zip(gradients, offsets, strict=True)]
    return f"max({', '.join(texts)})" if len(texts) > 1 else texts[0]


def _pieces(
    function: Formula,
    points: Sequence[Vector],
    costs: Sequence[Rational],
    smoothing: Rational,
    curvatures: tuple[Rational, Rational],
) -> str:
    """Return the pieces of an envelope on the line: one a vertex and one an edge of the points' lower hull.

    Around a vertex, where the nearest point stays, the second derivative is the first of ``curvatures``; along an
    edge the second.
    """
    hull: list[tuple[Rational, Rational]] = []
    for z, c in sorted((point._entries[0], cost) for point, cost in zip(points, costs, strict=True)):
        if hull and z == hull[-1][0]:
            continue
        while len(hull) > 1 and _slope(hull[-2], (z, c)) <= _slope(hull[-2], hull[-1]):
            hull.pop()
        hull.append((z, c))
    breaks: list[Rational] = []
    for left, right in pairwise(hull):
        shift = _slope(left, right) / smoothing
        breaks += [left[0] + shift, right[0] + shift]
    at = breaks[0] if breaks else fmpq(0)
    gradient, value = function.evaluate(Vector([at]))
    seconds = [curvatures[number % 2] for number in range(len(breaks) + 1)]
    line = Piecewise.from_curvatures(breaks, seconds, at=at, derivative=gradient._entries[0], value=value)
    return line.text()


def _slope(left: tuple[Rational, Rational], right: tuple[Rational, Rational]) -> Rational:
    return (right[1] - left[1]) / (right[0] - left[0])
