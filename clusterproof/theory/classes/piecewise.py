"""Piecewise quadratic functions of one number, continuously differentiable, exactly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from flint import fmpq

from clusterproof.theory.squares.exact import Rational

Piece: TypeAlias = tuple[Rational, Rational, Rational]
"""(a, b, c): the piece a/2 t^2 + b t + c."""


@dataclass(frozen=True)
class Piecewise:
    """A function with one quadratic piece more than it has breaks, in order of t."""

    breaks: tuple[Rational, ...]
    pieces: tuple[Piece, ...]

    @classmethod
    def from_curvatures(
        cls,
        breaks: Sequence[Rational],
        curvatures: Sequence[Rational],
        *,
        at: Rational,
        derivative: Rational,
        value: Rational,
    ) -> Piecewise:
        """Return the function of these second derivatives, with the given derivative and value at a point."""
        middle = bisect_left(breaks, at)
        a = curvatures[middle]
        b = derivative - a * at
        pieces = [(a, b, value - (a * at / 2 + b) * at)]
        for t, curvature in zip(breaks[middle:], curvatures[middle + 1 :], strict=True):
            pieces.append(_continued(pieces[-1], t, curvature))
        for t, curvature in zip(breaks[:middle][::-1], curvatures[:middle][::-1], strict=True):
            pieces.insert(0, _continued(pieces[0], t, curvature))
        return cls(tuple(breaks), tuple(pieces))

    def evaluate(self, t: Rational) -> tuple[Rational, Rational]:
        """Return the derivative and the value."""
        a, b, c = self.pieces[bisect_left(self.breaks, t)]
        return a * t + b, (a * t / 2 + b) * t + c

    def proximal(self, t: Rational, step: Rational) -> Rational:
        """Return u with u + step f'(u) = t, where 1 + step a > 0 for every piece."""
        for end, (a, b, _) in zip(self.breaks, self.pieces[:-1], strict=True):
            if end * (1 + step * a) + step * b >= t:
                return (t - step * b) / (1 + step * a)
        a, b, _ = self.pieces[-1]
        return (t - step * b) / (1 + step * a)

    def infimum(self) -> Rational:
        """Return the least value of a function that does not fall at its ends."""
        candidates = list(self.breaks)
        for number, (a, b, _) in enumerate(self.pieces):
            if a > 0 and number == bisect_left(self.breaks, -b / a):
                candidates.append(-b / a)
        return min(self.evaluate(t)[1] for t in candidates or [fmpq(0)])

    def text(self) -> str:
        """Return its pieces for a reader."""
        changes = [i for i, pair in enumerate(pairwise(self.pieces)) if pair[0] != pair[1]]
        breaks = [self.breaks[i] for i in changes]
        formulas = [polynomial(self.pieces[i]) for i in [*changes, -1]]
        if not breaks:
            return formulas[0]
        lower = ["", *(f"{t} < " for t in breaks)]
        upper = [*(f" <= {t}" for t in breaks), ""]
        return "; ".join(
            f"{formula} for {low}x{high}" for formula, low, high in zip(formulas, lower, upper, strict=True)
        )


def polynomial(piece: Piece, variable: str = "x") -> str:
    """Return a/2 t^2 + b t + c as text, without what is zero."""
    a, b, c = piece
    return signed_sum([(a / 2, f"{variable}^2"), (b, variable), (c, "")])


def signed_sum(terms: Sequence[tuple[Rational, str]]) -> str:
    """Return a sum of numbers times names as text: "3 x - 1"."""
    text = ""
    for factor, name in terms:
        if factor == 0:
            continue
        size = abs(factor)
        term = f"{size} {name}".strip() if size != 1 or not name else name
        sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
        text += sign + term
    return text or "0"


def _continued(piece: Piece, t: Rational, curvature: Rational) -> Piece:
    """Return the piece of another curvature with the same value and derivative at t."""
    a, b, c = piece
    slope = b + (a - curvature) * t
    return curvature, slope, c + ((a - curvature) * t / 2 + b - slope) * t
