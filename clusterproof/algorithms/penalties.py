"""Fusion penalties g(||theta||) for FPFC: SCAD, smoothed SCAD, and the group lasso.

Each class has the methods ``value``, ``prox`` and ``stationarity_residual``. All penalties depend only on the norm of
theta. So the proximal point is the given point times ``shrinkage``, a factor that depends on the norm of the point.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.common.arrays import Array, array_namespace, convert_array
from clusterproof.common.validation import InvalidArgument, check_number

POINTS = ("must be an array of real numbers (..., d)", "give one vector per row")
"""Rule and remedy in error messages about points and duals."""


@dataclass(frozen=True, kw_only=True)
class Penalty(ABC):
    """A penalty on the norm of the difference between two models.

    Parameters
    ----------
    strength
        Derivative of the penalty at zero (lambda), positive.

    Raises
    ------
    InvalidArgument
        If the strength is not positive.
    """

    strength: float

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_number("strength", self.strength, above=0, remedy="FPFC's public code uses 0.6")

    @property
    @abstractmethod
    def saturation(self) -> float:
        """Length beyond which the penalty is constant, or infinity if the penalty grows without bound."""

    @property
    def weakest_augmentation(self) -> float:
        """Strict lower bound on the augmentation. Above it, the proximal point is unique and has a closed form."""
        return 0.0

    @abstractmethod
    def value(self, lengths: Array) -> Array:
        """Return the penalty g(t) for an array of lengths t >= 0, of any shape."""

    @abstractmethod
    def derivative(self, lengths: Array) -> Array:
        """Return the derivative g'(t) for an array of lengths t, of any shape.

        For t = 0, it is the right derivative.
        """

    @abstractmethod
    def pieces(self, augmentation: float) -> np.ndarray:
        """Return rows (end, p, q) that define s(t), the factor in [0, 1] that ``prox`` applies to points of length t.

        The factor is max(0, p - q / t) for t between the ``end`` of the previous row and the ``end`` of the row. The
        last end is infinite.
        """

    def shrinkage(self, lengths: Array, augmentation: float) -> Array:
        """Return the factor s(t) for lengths t of any shape (see ``pieces``). The augmentation must be valid."""
        xp = array_namespace(lengths)
        zero, one = xp.zeros_like(lengths), xp.ones_like(lengths)
        positive, factor = xp.where(lengths > 0, lengths, one), zero
        for end, p, q in self.pieces(augmentation)[::-1].tolist():
            factor = xp.where(lengths <= end, p * one - q / positive, factor)
        return xp.where(factor > 0, factor, zero)

    def check_augmentation(self, augmentation: float) -> None:
        """Raise an error unless the proximal objective is strongly convex.

        Raises
        ------
        InvalidArgument
            If the augmentation is too small. The objective can have two minima if the augmentation is too small. The
            minimiser is then a discontinuous function of the point, and the closed form is wrong near the jump.
        """
        check_number("augmentation", augmentation, above=0, remedy="raise it; the public code uses 1")
        if augmentation <= self.weakest_augmentation:
            raise InvalidArgument(
                "augmentation",
                augmentation,
                f"must be greater than 1 / (concavity - 1) = {self.weakest_augmentation:.6g}, below which the "
                "proximal step has two minima",
                "use a larger augmentation or concavity",
            )

    def prox(self, points: Array, augmentation: float) -> Array:
        """Minimise g(||theta||) + augmentation / 2 ||theta - point||^2 for every point (..., d), (..., d).

        FPFC itself does not call this function: ``pairs.update_pairs`` applies ``pieces`` to all pairs at once.

        Raises
        ------
        InvalidArgument
            If the augmentation, the paper's rho, is too small for the closed form.
        """
        self.check_augmentation(augmentation)
        points = convert_array("points", points, *POINTS)
        return self.shrinkage(lengths_of(points), augmentation)[..., None] * points

    def stationarity_residual(self, points: Array, duals: Array) -> Array:
        """Return the distance (...) between duals v (..., d) and the subdifferential of g(||.||) at points (..., d)."""
        points, duals = convert_array("points", points, *POINTS), convert_array("duals", duals, *POINTS)
        xp = array_namespace(points)
        lengths = lengths_of(points)
        at_zero = lengths == 0
        scale = self.derivative(lengths) / xp.where(at_zero, xp.ones_like(lengths), lengths)
        away = lengths_of(duals - scale[..., None] * points)
        inside = lengths_of(duals) - self.derivative(xp.zeros_like(lengths))
        return xp.where(at_zero, xp.where(inside > 0, inside, xp.zeros_like(inside)), away)


@dataclass(frozen=True, kw_only=True)
class GroupL1(Penalty):
    """The convex penalty g(t) = strength t of FPFC-l1."""

    @property
    def saturation(self) -> float:
        """Infinity, because this penalty grows without bound."""
        return math.inf

    def value(self, lengths: Array) -> Array:
        """Return the penalty g(t) for lengths t of any shape."""
        lengths = _floats(lengths)
        return self.strength * lengths

    def derivative(self, lengths: Array) -> Array:
        """Return the derivative g'(t) for lengths t of any shape."""
        lengths = _floats(lengths)
        return self.strength * array_namespace(lengths).ones_like(lengths)

    def pieces(self, augmentation: float) -> np.ndarray:
        """Return the rows (end, p, q) that ``Penalty.pieces`` describes."""
        threshold = self.strength / augmentation
        return np.array([[threshold, 0.0, 0.0], [np.inf, 1.0, threshold]])


@dataclass(frozen=True, kw_only=True)
class SCAD(Penalty):
    """Smoothly clipped absolute deviation (Fan and Li, 2001).

    As the length increases, the penalty is first linear, then concave, and then constant.

    Parameters
    ----------
    strength
        Derivative at zero (lambda), positive. The penalty is constant for lengths above ``concavity * strength``.
    concavity
        Parameter a, greater than 1.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.
    """

    concavity: float = 3.7

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        remedy = "at 1 there is no concave part; 3.7 is usual"
        check_number("concavity", self.concavity, above=1, remedy=remedy)

    @property
    def saturation(self) -> float:
        """The length a * lambda, beyond which the penalty is constant."""
        return self.concavity * self.strength

    @property
    def weakest_augmentation(self) -> float:
        """The absolute value 1 / (a - 1) of the most negative curvature of the penalty."""
        return 1 / (self.concavity - 1)

    def value(self, lengths: Array) -> Array:
        """Return the penalty g(t) for lengths t of any shape."""
        lengths = _floats(lengths)
        xp = array_namespace(lengths)
        strength, concavity = self.strength, self.concavity
        concave = (concavity * strength * lengths - (lengths**2 + strength**2) / 2) / (concavity - 1)
        constant = xp.full_like(lengths, strength**2 * (concavity + 1) / 2)
        beyond = xp.where(lengths <= self.saturation, concave, constant)
        return xp.where(lengths <= strength, strength * lengths, beyond)

    def derivative(self, lengths: Array) -> Array:
        """Return the derivative g'(t) for lengths t of any shape."""
        lengths = _floats(lengths)
        xp = array_namespace(lengths)
        concave = (self.saturation - lengths) / (self.concavity - 1)
        beyond = xp.where(lengths <= self.saturation, concave, xp.zeros_like(lengths))
        return xp.where(lengths <= self.strength, xp.full_like(lengths, self.strength), beyond)

    def pieces(self, augmentation: float) -> np.ndarray:
        """Return the rows (end, p, q) that ``Penalty.pieces`` describes."""
        threshold = self.strength / augmentation
        ratio = 1 / ((self.concavity - 1) * augmentation)
        return np.array(
            [
                [threshold, 0.0, 0.0],
                [self.strength + threshold, 1.0, threshold],
                [self.saturation, 1 / (1 - ratio), self.saturation * ratio / (1 - ratio)],
                [np.inf, 1.0, 0.0],
            ]
        )


@dataclass(frozen=True, kw_only=True)
class SmoothedSCAD(SCAD):
    """FPFC's differentiable version of SCAD: a parabola up to the length ``smoothing``, and SCAD beyond this length.

    This version exceeds SCAD by at most ``smoothing * strength / 2``.

    Parameters
    ----------
    strength, concavity
        See ``SCAD``.
    smoothing
        Length (xi) up to which the penalty is a parabola, positive and below ``strength``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.
    """

    smoothing: float

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_number("smoothing", self.smoothing, above=0, remedy="FPFC's public code uses 0.001")
        if self.smoothing >= self.strength:
            raise InvalidArgument(
                "smoothing",
                self.smoothing,
                f"must be below strength = {self.strength:g}: at this length SCAD is no longer linear, and the "
                "smoothed penalty would jump",
                "use a smaller smoothing; FPFC's public code uses 0.001",
            )

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant L_g = max(lambda / xi, 1 / (a - 1)) of the gradient of g(||.||)."""
        return max(self.strength / self.smoothing, 1 / (self.concavity - 1))

    def value(self, lengths: Array) -> Array:
        """Return the penalty g(t) for lengths t of any shape."""
        lengths = _floats(lengths)
        parabola = self.strength / (2 * self.smoothing) * lengths**2 + self.smoothing * self.strength / 2
        return array_namespace(lengths).where(lengths <= self.smoothing, parabola, super().value(lengths))

    def derivative(self, lengths: Array) -> Array:
        """Return the derivative g'(t) for lengths t of any shape, where g'(0) = 0."""
        lengths = _floats(lengths)
        parabola = self.strength / self.smoothing * lengths
        return array_namespace(lengths).where(
            lengths <= self.smoothing, parabola, super().derivative(lengths)
        )

    def pieces(self, augmentation: float) -> np.ndarray:
        """Return the rows (end, p, q) that ``Penalty.pieces`` describes."""
        inner = self.smoothing * augmentation / (self.strength + self.smoothing * augmentation)
        end = self.smoothing + self.strength / augmentation
        return np.concatenate([[[end, inner, 0.0]], super().pieces(augmentation)[1:]])


def lengths_of(vectors: Array) -> Array:
    """Return the Euclidean norms (...) of vectors (..., d), even if the squares of entries underflow or overflow."""
    xp = array_namespace(vectors)
    with np.errstate(over="ignore"):
        squares = xp.vecdot(vectors, vectors)
    largest = xp.max(xp.abs(vectors), axis=-1)
    unit = xp.where((largest > 0) & xp.isfinite(largest), largest, xp.ones_like(largest))
    shares = vectors / unit[..., None]
    usual = (squares >= least_square(xp.finfo(vectors.dtype))) & xp.isfinite(squares)
    return xp.where(usual, xp.sqrt(squares), unit * xp.sqrt(xp.vecdot(shares, shares)))


def least_square(numbers: Any) -> float:
    """Return the sum of squares above which underflow of a square is negligible, for the ``finfo`` of a type."""
    return float(numbers.smallest_normal / numbers.eps)


def _floats(lengths: Array) -> Array:
    """Convert lengths to floating-point numbers, because integers would truncate the results."""
    return convert_array("lengths", lengths, "must be an array of real numbers", "give lengths, at least 0")
