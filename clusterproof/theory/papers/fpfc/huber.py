"""Sums of Huber losses: convex and smooth, with Hessians that do not commute and are not constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class HuberSum:
    """f(w), the sum over rows x of the Huber loss of x . w - y.

    Attributes
    ----------
    features, targets
        Rows x (n, d) and y (n,).
    width
        Residual at which the loss changes from a parabola to a line, positive.
    """

    features: np.ndarray
    targets: np.ndarray
    width: float

    @classmethod
    def draw(cls, stream: np.random.Generator) -> HuberSum:
        """Draw one to four rows in one to three dimensions."""
        rows, dimension = int(stream.integers(1, 5)), int(stream.integers(1, 4))
        features = stream.standard_normal((rows, dimension))
        return cls(features, stream.standard_normal(rows), float(10 ** stream.uniform(-2, 1)))

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.features.shape[1])

    @property
    def smoothness(self) -> float:
        """L_f."""
        return float(np.linalg.eigvalsh(self.features.T @ self.features)[-1])

    def value(self, point: np.ndarray) -> float:
        """f at a point (d,)."""
        away = np.abs(self.features @ point - self.targets)
        huber = np.where(away <= self.width, away**2 / 2, self.width * (away - self.width / 2))
        return float(huber.sum())

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Gradient at a point (d,)."""
        derivatives = np.clip(self.features @ point - self.targets, -self.width, self.width)
        return np.asarray(self.features.T @ derivatives)
