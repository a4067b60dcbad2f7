"""Theorem 1's constants, and scalar clients with Huber's loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.penalties import SmoothedSCAD


def mapping_bound(clients: int, strength: float, smoothing: float) -> float:
    """m^2 lambda^2 xi^2 / (lambda + xi)^2."""
    return (clients * strength * smoothing / (strength + smoothing)) ** 2


@dataclass(frozen=True)
class Constants:
    """A setting of Theorem 1.

    Attributes
    ----------
    algorithm
        FPFC with SCAD.
    clients
        m.
    smoothness
        L_f, of every client's loss.
    weak_convexity
        L_- > 0; any positive number for convex losses.
    """

    algorithm: FPFC
    clients: int
    smoothness: float
    weak_convexity: float

    @property
    def penalty(self) -> SmoothedSCAD:
        """The smoothed SCAD."""
        penalty = self.algorithm.fusion_penalty
        if not isinstance(penalty, SmoothedSCAD):
            raise TypeError("Theorem 1 is about SCAD")
        return penalty

    @property
    def local_smoothness(self) -> float:
        """L_h = L_f + rho."""
        return self.smoothness + self.algorithm.augmentation

    @property
    def contraction(self) -> float:
        """c, of the square of the distance in one local step."""
        convexity, smoothness = self.algorithm.augmentation - self.weak_convexity, self.local_smoothness
        return 1 - 2 * self.algorithm.step_size * convexity * smoothness / (smoothness + convexity)

    @property
    def power(self) -> float:
        """q = c^(T/2)."""
        return float(self.contraction ** (self.algorithm.local_steps / 2))

    @property
    def inexactness(self) -> float:
        """(c^(-T/2) - 1)^-1, one reading of (c - T/2)^-1; the other one is ``power``."""
        return self.power / (1 - self.power)

    @property
    def admissible(self) -> bool:
        """The hypotheses, with T > 2 log 2 / log(1/c) and rho > L_f / (1 - 2 c^(T/2))."""
        algorithm, penalty = self.algorithm, self.penalty
        largest = 1 / (self.smoothness + 2 * algorithm.augmentation - self.weak_convexity)
        return (
            algorithm.augmentation > self.weak_convexity
            and algorithm.step_size <= largest * (1 + 1e-12)
            and self.power < 0.5
            and algorithm.augmentation
            > max(
                self.smoothness / (1 - 2 * self.power),
                2 * penalty.strength / penalty.smoothing,
                2 / (penalty.concavity - 1),
            )
        )

    @property
    def second_denominator(self) -> float:
        """rho^2 - L_g rho - 2 L_g^2, positive for rho > 2 L_g."""
        rho, lipschitz = self.algorithm.augmentation, self.penalty.lipschitz
        return rho**2 - lipschitz * rho - 2 * lipschitz**2

    def first_denominator_of(self, inexactness: float) -> float:
        """rho - L_f - 2 r L_h with r = ``inexactness``."""
        pull = self.algorithm.augmentation - self.smoothness
        return pull - 2 * inexactness * self.local_smoothness

    @property
    def first_denominator(self) -> float:
        """rho - L_f - 2 r L_h with r = (c^(-T/2) - 1)^-1."""
        return self.first_denominator_of(self.inexactness)

    @property
    def least_augmentation(self) -> float:
        """L_f (1 + q) / (1 - 3q), above which C_1's first denominator is positive; infinite for q >= 1/3."""
        return self.smoothness * (1 + self.power) / (1 - 3 * self.power) if self.power < 1 / 3 else math.inf

    def first_of(self, inexactness: float) -> float:
        """C_1 with r = ``inexactness``; infinite where its first denominator is 0."""
        rho, denominator = self.algorithm.augmentation, self.first_denominator_of(inexactness)
        if denominator == 0:
            return math.inf
        inexact = 6 * ((inexactness * self.local_smoothness) ** 2 + rho**2) / denominator
        return (inexact + 12 * rho**3 / self.second_denominator) / self.participation

    @property
    def first(self) -> float:
        """C_1 with r = (c^(-T/2) - 1)^-1."""
        return self.first_of(self.inexactness)

    @property
    def second(self) -> float:
        """C_2."""
        return self.penalty.lipschitz**2 / (
            self.clients * self.algorithm.augmentation * self.second_denominator
        )

    @property
    def first_step_factor(self) -> float:
        """A_1 = 2 / (alpha p (2 - alpha L_h)), from what the first local step lowers the Lagrangian by."""
        algorithm = self.algorithm
        return 2 / (
            algorithm.step_size * self.participation * (2 - algorithm.step_size * self.local_smoothness)
        )

    @property
    def local_steps_factor(self) -> float:
        """A = 2 L_h / (p (1 - (1 - alpha L_h)^(2T))), from what all T local steps lower the Lagrangian by."""
        shrinking = (1 - self.algorithm.step_size * self.local_smoothness) ** 2
        # as a geometric sum, which loses no digits where alpha L_h is small
        return self.first_step_factor / sum(shrinking**step for step in range(self.algorithm.local_steps))

    @property
    def pairs_factor(self) -> float:
        """4 (1 - 1/m) rho L_g^2 / (P den), the factor of the pairs in the repaired theorem."""
        pull = 4 * (1 - 1 / self.clients) * self.algorithm.augmentation * self.penalty.lipschitz**2
        return pull / (self.pair_participation * self.second_denominator)

    @property
    def largely_augmented(self) -> bool:
        """rho >= 8 L_g, from where on the factor of the pairs is not needed."""
        return self.algorithm.augmentation >= 8 * self.penalty.lipschitz * (1 - 1e-12)

    @property
    def mapping_bound(self) -> float:
        """m^2 lambda^2 xi^2 / (lambda + xi)^2."""
        return mapping_bound(self.clients, self.penalty.strength, self.penalty.smoothing)

    @property
    def start(self) -> float:
        """m xi lambda / 4, which is added to F(w^0) - F* as printed."""
        return self.clients * self.penalty.smoothing * self.penalty.strength / 4

    @property
    def repaired_start(self) -> float:
        """(m - 1) xi lambda / 4, as a client has no pair with itself."""
        return (self.clients - 1) * self.penalty.smoothing * self.penalty.strength / 4

    @property
    def active(self) -> int:
        """Number of participants of a round."""
        return max(1, round(self.algorithm.participation * self.clients))

    @property
    def participation(self) -> float:
        """Probability of a client to take part (p_i, all alike)."""
        return self.active / self.clients

    @property
    def pair_participation(self) -> float:
        """Probability that at least one of two clients takes part (P-hat)."""
        absent = math.comb(self.clients - 2, self.active) / math.comb(self.clients, self.active)
        return 1 - absent


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
