"""Fusion penalties g(||theta||) of FPFC: SCAD, its smoothed surrogate and the group lasso.

Each is an object with ``value``, ``prox`` and ``stationarity_residual``. All are radial, so that a
proximal point is the given point times a factor, ``shrinkage``, of its length alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array
from clusterproof.algorithms.validation import InvalidArgument, check_number


@dataclass(frozen=True, kw_only=True)
class Penalty(ABC):
    """A penalty of the length of a difference of two models.

    Parameters
    ----------
    strength
        Slope of the penalty near zero (lambda), positive.

    Raises
    ------
    InvalidArgument
        If it is not.
    """

    strength: float

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_number("strength", self.strength, above=0, remedy="FPFC's public code has 0.6")

    @property
    @abstractmethod
    def saturation(self) -> float:
        """Length beyond which the penalty is constant; infinite where there is none."""

    @property
    def weakest_augmentation(self) -> float:
        """The augmentation has to be greater, for the proximal point to be unique and closed."""
        return 0.0

    @abstractmethod
    def value(self, lengths: Array) -> Array:
        """Penalty g(t) of lengths t >= 0, of any shape."""

    @abstractmethod
    def slope(self, lengths: Array) -> Array:
        """Derivative g'(t) of lengths t > 0, of any shape; at 0 its limit from the right."""

    @abstractmethod
    def shrinkage(self, lengths: Array, augmentation: float) -> Array:
        """Factor s(t) by which ``prox`` shortens a point of length t, in [0, 1], of any shape."""

    @abstractmethod
    def pieces(self, augmentation: float) -> np.ndarray:
        """``shrinkage`` as max(0, p - q / t) up to each length t, rows (t, p, q), the last without end."""

    def check_augmentation(self, augmentation: float) -> None:
        """Require a strongly convex proximal objective.

        Raises
        ------
        InvalidArgument
            If the augmentation is too small: the objective then has two minima, its minimiser jumps, and
            the closed form is wrong around the jump.
        """
        check_number(
            "augmentation",
            augmentation,
            above=0,
            remedy="raise it; 1 is the public code's",
        )
        if augmentation <= self.weakest_augmentation:
            raise InvalidArgument(
                "augmentation",
                augmentation,
                f"must be greater than 1 / (concavity - 1) = {self.weakest_augmentation:.6g}, below which the "
                "proximal step has two minima",
                "raise the augmentation or the concavity",
            )

    def prox(self, points: Array, augmentation: float) -> Array:
        """Minimise g(||theta||) + augmentation / 2 ||theta - point||^2 for every point.

        Parameters
        ----------
        points
            (..., d).
        augmentation
            The paper's rho, an inverse step size.

        Returns
        -------
        Array
            (..., d).

        Raises
        ------
        InvalidArgument
            If the augmentation is too small for the closed form.
        """
        self.check_augmentation(augmentation)
        return self.shrinkage(lengths_of(points), augmentation)[..., None] * points

    def stationarity_residual(self, points: Array, duals: Array) -> Array:
        """Distance of duals v (..., d) from the subdifferential of g(||.||) at points (..., d), (...)."""
        xp = array_namespace(points)
        lengths = lengths_of(points)
        at_zero = lengths == 0
        scale = self.slope(lengths) / xp.where(at_zero, xp.ones_like(lengths), lengths)
        away = lengths_of(duals - scale[..., None] * points)
        inside = lengths_of(duals) - self.slope(xp.zeros_like(lengths))
        return xp.where(at_zero, xp.where(inside > 0, inside, xp.zeros_like(inside)), away)


@dataclass(frozen=True, kw_only=True)
class GroupL1(Penalty):
    """The convex penalty g(t) = strength t, of FPFC-l1."""

    @property
    def saturation(self) -> float:
        """Infinite: the pull never ends."""
        return math.inf

    def value(self, lengths: Array) -> Array:
        """Penalty of lengths of any shape."""
        return self.strength * lengths

    def slope(self, lengths: Array) -> Array:
        """Derivative at lengths of any shape."""
        return self.strength * array_namespace(lengths).ones_like(lengths)

    def shrinkage(self, lengths: Array, augmentation: float) -> Array:
        """Factor max(0, 1 - strength / (augmentation t))."""
        return _soft(lengths, self.strength / augmentation)

    def pieces(self, augmentation: float) -> np.ndarray:
        """Rows (t, p, q), see ``Penalty.pieces``."""
        threshold = self.strength / augmentation
        return np.array([[threshold, 0.0, 0.0], [np.inf, 1.0, threshold]])


@dataclass(frozen=True, kw_only=True)
class SCAD(Penalty):
    """Smoothly clipped absolute deviation (Fan and Li, 2001): linear, then bending over, then constant.

    Parameters
    ----------
    strength
        Slope near zero (lambda), positive; the penalty is constant from ``concavity * strength`` on.
    concavity
        Greater than 1 (a).

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.
    """

    concavity: float = 3.7

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_number(
            "concavity",
            self.concavity,
            above=1,
            remedy="at 1 the penalty would bend over at once; 3.7 is usual",
        )

    @property
    def saturation(self) -> float:
        """a lambda."""
        return self.concavity * self.strength

    @property
    def weakest_augmentation(self) -> float:
        """1 / (a - 1), the largest negative curvature."""
        return 1 / (self.concavity - 1)

    def value(self, lengths: Array) -> Array:
        """Penalty of lengths of any shape."""
        xp = array_namespace(lengths)
        strength, concavity = self.strength, self.concavity
        bending = (concavity * strength * lengths - (lengths**2 + strength**2) / 2) / (concavity - 1)
        constant = xp.full_like(lengths, strength**2 * (concavity + 1) / 2)
        return xp.where(
            lengths <= strength,
            strength * lengths,
            xp.where(lengths <= self.saturation, bending, constant),
        )

    def slope(self, lengths: Array) -> Array:
        """Derivative at lengths of any shape."""
        xp = array_namespace(lengths)
        bending = (self.saturation - lengths) / (self.concavity - 1)
        flat = xp.full_like(lengths, self.strength)
        return xp.where(
            lengths <= self.strength,
            flat,
            xp.where(lengths <= self.saturation, bending, xp.zeros_like(lengths)),
        )

    def shrinkage(self, lengths: Array, augmentation: float) -> Array:
        """Factor of the proximal point, for an augmentation that ``check_augmentation`` accepts."""
        xp = array_namespace(lengths)
        threshold = self.strength / augmentation
        bend = 1 / ((self.concavity - 1) * augmentation)
        bending = _soft(lengths, self.saturation * bend) / (1 - bend)
        return xp.where(
            lengths <= self.strength + threshold,
            _soft(lengths, threshold),
            xp.where(lengths <= self.saturation, bending, xp.ones_like(lengths)),
        )

    def pieces(self, augmentation: float) -> np.ndarray:
        """Rows (t, p, q), see ``Penalty.pieces``."""
        threshold = self.strength / augmentation
        bend = 1 / ((self.concavity - 1) * augmentation)
        return np.array(
            [
                [threshold, 0.0, 0.0],
                [self.strength + threshold, 1.0, threshold],
                [self.saturation, 1 / (1 - bend), self.saturation * bend / (1 - bend)],
                [np.inf, 1.0, 0.0],
            ]
        )


@dataclass(frozen=True, kw_only=True)
class SmoothedSCAD(SCAD):
    """The differentiable surrogate of FPFC: a parabola up to ``smoothing``, SCAD beyond.

    It lies above SCAD by at most ``smoothing * strength / 2``.

    Parameters
    ----------
    strength, concavity
        As for SCAD.
    smoothing
        Length up to which it is a parabola (xi), positive and below ``strength``.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range.
    """

    smoothing: float

    def __post_init__(self) -> None:
        """Validate the parameters."""
        super().__post_init__()
        check_number("smoothing", self.smoothing, above=0, remedy="FPFC's public code has 0.001")
        if self.smoothing >= self.strength:
            raise InvalidArgument(
                "smoothing",
                self.smoothing,
                f"must be below strength = {self.strength:g}: from there on SCAD is no longer linear, and the "
                "surrogate would jump",
                "lower it, FPFC's public code has 0.001",
            )

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant L_g = max(lambda / xi, 1 / (a - 1)) of the gradient of g(||.||)."""
        return max(self.strength / self.smoothing, 1 / (self.concavity - 1))

    def value(self, lengths: Array) -> Array:
        """Penalty of lengths of any shape."""
        parabola = self.strength / (2 * self.smoothing) * lengths**2 + self.smoothing * self.strength / 2
        return array_namespace(lengths).where(lengths <= self.smoothing, parabola, super().value(lengths))

    def slope(self, lengths: Array) -> Array:
        """Derivative at lengths of any shape; 0 at 0."""
        parabola = self.strength / self.smoothing * lengths
        return array_namespace(lengths).where(lengths <= self.smoothing, parabola, super().slope(lengths))

    def shrinkage(self, lengths: Array, augmentation: float) -> Array:
        """Factor of the proximal point, for an augmentation that ``check_augmentation`` accepts."""
        xp = array_namespace(lengths)
        inner = self.smoothing * augmentation / (self.strength + self.smoothing * augmentation)
        return xp.where(
            lengths <= self.smoothing + self.strength / augmentation,
            xp.full_like(lengths, inner),
            super().shrinkage(lengths, augmentation),
        )

    def pieces(self, augmentation: float) -> np.ndarray:
        """Rows (t, p, q), see ``Penalty.pieces``."""
        inner = self.smoothing * augmentation / (self.strength + self.smoothing * augmentation)
        end = self.smoothing + self.strength / augmentation
        return np.concatenate([[[end, inner, 0.0]], super().pieces(augmentation)[1:]])


def lengths_of(vectors: Array) -> Array:
    """Euclidean length of vectors (..., d), (...)."""
    xp = array_namespace(vectors)
    return xp.sqrt(xp.vecdot(vectors, vectors))


def _soft(lengths: Array, threshold: float) -> Array:
    """Factor max(0, 1 - threshold / t); 0 at t = 0."""
    xp = array_namespace(lengths)
    beyond = lengths > threshold
    return xp.where(
        beyond, 1 - threshold / xp.where(beyond, lengths, xp.ones_like(lengths)), xp.zeros_like(lengths)
    )
