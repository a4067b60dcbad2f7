"""Exact expectations for clients at the corners of a simplex, with one participant per round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.theorem_1 import Constants

SMOOTHING, SLOPE = 1.0, 10.0
"""The values of xi and of lambda / xi = L_g."""

FLATNESS = 1e-4
"""Curvature of the losses, in units of rho."""

AT_REST = 50
"""The computation stops when the distance of the clients from the fixed point has decreased by this factor."""

Form = Mapping[str, float]
"""A linear form in the variables of ``Simplex.products``."""


@dataclass(frozen=True)
class Simplex:
    """m clients that start at the minimum 0 of F, and whose losses decrease towards the corners of a simplex in R^m.

    The losses are nearly linear, with the largest gradients for which 0 still minimises F with unsmoothed SCAD. With
    smoothed SCAD the models move apart until the distance of each pair is nearly xi. At this distance the smoothed
    penalty equals SCAD, so the total decrease is all of D_0 = (m - 1) xi lambda / 4. In each round, one client takes
    one step. The step size is a share of the largest allowed step size.

    Attributes
    ----------
    clients
        m, at least 3.
    ratio
        rho / L_g, greater than 2.
    share
        alpha (L_f + rho), in (0, 1].
    """

    clients: int
    ratio: float
    share: float

    @property
    def curvature(self) -> float:
        """The smoothness L_f."""
        return FLATNESS * self.ratio * SLOPE

    @property
    def setting(self) -> Constants:
        """The algorithm.

        The negative curvature of SCAD is so small that F is convex: 1 / (a - 1) = L_f.
        """
        rho = self.ratio * SLOPE
        algorithm = FPFC(
            step_size=self.share / (self.curvature + rho),
            local_steps=1,
            strength=SLOPE * SMOOTHING,
            smoothing=SMOOTHING,
            concavity=1 + 1 / self.curvature,
            augmentation=rho,
            threshold=SMOOTHING,
            participation=1 / self.clients,
        )
        return Constants(algorithm, self.clients, self.curvature, 0.0)

    @property
    def task(self) -> QuadraticMixture:
        """The clients. The gradients of two clients at 0 differ by lambda, so 0 is a subgradient of F at 0."""
        size = self.clients
        corners = np.eye(size) - 1 / size
        pull = SLOPE * SMOOTHING / np.sqrt(2)
        return QuadraticMixture(
            hessians=np.stack([self.curvature * np.eye(size)] * size),
            centers=pull / self.curvature * corners,
            labels=np.arange(size),
        )

    @property
    def rounds(self) -> int:
        """Number of rounds until the distance from the fixed point is 1 / ``AT_REST`` of its initial value."""
        rate = self.setting.algorithm.step_size * (self.curvature + SLOPE) / self.clients
        return int(np.log(AT_REST) / rate)

    @property
    def reach(self) -> float:
        """Norm of each model at the fixed point, in units of the norm of the client's corner."""
        return float(SLOPE * SMOOTHING / np.sqrt(2) / (self.curvature + SLOPE))

    @cached_property
    def moment_map(self) -> np.ndarray:
        """Return the linear map of the five second moments in a round, (5, 5), as long as all penalties are quadratic.

        Here w_i and theta_ij are differences from the fixed point. The moments are E w_i^2, E w_i w_j, E w_i
        theta_ij, E theta_ij^2 and E theta_ij theta_ik. All other moments follow from theta_ij = -theta_ji or are 0.
        """
        return np.stack([self._after(moments) for moments in np.eye(5)], axis=1)

    def mean_squared_gradients(self, rounds: int) -> float:
        """Return the sum over rounds of E||grad_w L_0||^2 for grad_{w_i} L_0 = L_f w_i + (L_g / m) sum_j theta_ij."""
        size, curvature, share = self.clients, self.curvature, SLOPE / self.clients
        mixed, length = 2 * curvature * share * (size - 1), share**2 * (size - 1)
        weights = size * np.array([curvature**2, 0.0, mixed, length, length * (size - 2)])
        # w_i - w_i* is minus client i's corner, summed over coordinates; theta_ij starts at 0
        moments = self.reach**2 * np.array([(size - 1) / size, -1 / size, 1.0, 2.0, 1.0])
        total = 0.0
        for _ in range(rounds):
            moments = self.moment_map @ moments
            total += float(weights @ moments)
        return total

    def _after(self, moments: np.ndarray) -> np.ndarray:
        size, rho, step = self.clients, self.ratio * SLOPE, self.setting.algorithm.step_size
        mixed, angle = moments[2], moments[4]
        products = self.products(moments)

        def mean(left: Form, right: Form) -> float:
            return sum(a * b * products[frozenset((x, y))] for x, a in left.items() for y, b in right.items())

        # i takes part, j and k do not; w is the sum of the others' models, t the sum of client i's differences
        gradient = {
            "i": self.curvature + rho * (size - 1) / size,
            "w": -rho / size,
            "t": (SLOPE - rho) / size,
        }
        updated = {name: (name == "i") - step * value for name, value in gradient.items()}

        def difference(pair: str, right: str) -> Form:
            made = {name: rho / (SLOPE + rho) * value for name, value in updated.items()}
            return {**made, pair: SLOPE / (SLOPE + rho), right: -rho / (SLOPE + rho)}

        first, second = difference("ij", "j"), difference("ik", "k")
        unmoved = (SLOPE * angle + rho * mixed) / (
            SLOPE + rho
        )  # moments of theta_ji and theta_jk; one of them has moved
        others = np.array([size - 1, size - 2, size - 2, size - 2, size - 3])
        changed = [
            mean(updated, updated),
            2 * mean(updated, {"j": 1.0}),
            mean(updated, first) - mean({"j": 1.0}, first),
            2 * mean(first, first),
            mean(first, second) + 2 * unmoved,
        ]
        return np.asarray((np.array(changed) + others * moments) / size)

    def products(self, moments: np.ndarray) -> dict[frozenset[str], float]:
        """Return second moments of w_i, w_j, w_k, the sum without w_i, theta_ij, theta_ik and sum_j theta_ij."""
        rest = self.clients - 1
        square, product, mixed, length, angle = moments
        row = length + (rest - 1) * angle
        known = {
            ("i",): square, ("j",): square, ("k",): square, ("i", "j"): product, ("i", "k"): product,
            ("j", "k"): product, ("i", "w"): rest * product, ("j", "w"): square + (rest - 1) * product,
            ("k", "w"): square + (rest - 1) * product, ("w",): rest * (square + (rest - 1) * product),
            ("i", "t"): rest * mixed, ("j", "t"): -mixed, ("k", "t"): -mixed, ("w", "t"): -rest * mixed,
            ("t",): rest * row, ("ij",): length, ("ik",): length, ("ij", "ik"): angle,
            ("ij", "t"): row, ("ik", "t"): row, ("ij", "i"): mixed, ("ik", "i"): mixed,
            ("ij", "j"): -mixed, ("ik", "k"): -mixed, ("ij", "k"): 0.0, ("ik", "j"): 0.0,
            ("ij", "w"): -mixed, ("ik", "w"): -mixed,
        }  # fmt: skip
        return {frozenset(names): float(value) for names, value in known.items()}
