"""Clients in the plane whose gradients are exact: L-smooth, mu-strongly convex, and not quadratic.

Everything is relative to a minimiser x* of the mean loss: a client's loss enters by the difference
u_i(d) = grad f_i(x* + d) - grad f_i(x*) and by its gradient at x*, which any vectors of mean 0 can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.claims import choice, integers, rationals

DIRECTIONS = np.array([[1, 0], [Fraction(3, 5), Fraction(4, 5)], [0, 1]], dtype=object)
Knee = Annotated[Fraction, choice(Fraction(100), Fraction(0), Fraction(1), Fraction(-1, 2))]
Share = Annotated[Fraction, rationals(0, 1, 2)]
Coordinate = Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]


@dataclass(frozen=True)
class PlanarClients:
    """Losses mu |d|^2 / 2 + s_i h_i(<a_i, d>) with a_i of length 1, s_i <= L - mu and h_i(t) = t^2 / 2 up to a knee.

    Beyond its knee h_i is linear, so that h_i' is min(t, w) for a knee w >= 0 and max(t, w) for w < 0. Clients 0, 2,
    ... are of the first kind, with a_i along the first axis, clients 1, 3, ... of the second.

    Attributes
    ----------
    clients
        N.
    smoothness, strong_convexity
        L and mu.
    first, second
        s_i / (L - mu) of both kinds.
    first_knee, second_knee
        w.
    turn
        Which of ``DIRECTIONS`` a_i is for the second kind.
    """

    clients: Annotated[int, integers(1, 4, upwards=True)]
    smoothness: Annotated[Fraction, choice(Fraction(1), Fraction(2))]
    strong_convexity: Annotated[Fraction, rationals(0, lambda smoothness: smoothness, 10)]
    first: Share
    first_knee: Knee
    second: Share
    second_knee: Knee
    turn: Annotated[int, choice(0, 1, 2)]

    def per_client(self, first: Any, second: Any) -> np.ndarray:
        """Return an array with a value of each kind for every client."""
        return np.array([second if client % 2 else first for client in range(self.clients)], dtype=object)

    def deviations(self, x: Fraction, y: Fraction) -> np.ndarray:
        """Return vectors of mean 0, (N, 2): (x, y) and -(x, y) in turn, minus their mean."""
        vectors = self.per_client((x, y), (-x, -y))
        return np.asarray(vectors - sum(vectors) / Fraction(self.clients))

    def gradients(self, distances: np.ndarray) -> np.ndarray:
        """Return u_i at the distance d_i of each client from x*, both (N, 2)."""
        along, strength, _, derivative = self.bent(distances)
        return np.asarray(self.strong_convexity * distances + (strength * derivative)[:, None] * along)

    def values(self, distances: np.ndarray) -> np.ndarray:
        """Return f_i(x* + d_i) - f_i(x*) - <grad f_i(x*), d_i>, (N,)."""
        _, strength, inner, derivative = self.bent(distances)
        bent = strength * (inner - derivative / 2) * derivative
        return np.asarray(self.strong_convexity * squares(distances) / 2 + bent)

    def bent(self, distances: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return a_i, s_i, t_i = <a_i, d_i> and h_i'(t_i); h_i(t) = (t - h_i'(t) / 2) h_i'(t)."""
        along = DIRECTIONS[self.per_client(0, self.turn).astype(int)]
        inner, knees = (along * distances).sum(axis=-1), self.per_client(self.first_knee, self.second_knee)
        derivative = np.where(knees >= 0, np.minimum(inner, knees), np.maximum(inner, knees))
        strength = (self.smoothness - self.strong_convexity) * self.per_client(self.first, self.second)
        return along, strength, inner, derivative

    def local_steps(
        self, start: np.ndarray, corrections: np.ndarray, step_size: Fraction, count: int
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Run d_i <- d_i - eta (u_i(d_i) - correction_i) from d_i = start.

        FedAvg has the corrections -grad f_i(x*), SCAFFOLD c_i - c - grad f_i(x*), FedLin u_i(start) minus its mean.

        Returns
        -------
        tuple
            The points d_i^0 .. d_i^K, and the gradients u_i at d_i^0 .. d_i^(K-1), each (N, 2).
        """
        points, gradients = [start + 0 * corrections], []
        for _ in range(count):
            gradients.append(self.gradients(points[-1]))
            points.append(points[-1] - step_size * (gradients[-1] - corrections))
        return points, gradients


def squares(vectors: np.ndarray) -> np.ndarray:
    """Squared lengths of vectors (..., d)."""
    return np.asarray((vectors**2).sum(axis=-1))


def mean(values: np.ndarray) -> Any:
    """Mean over the first axis, exactly."""
    return values.sum(axis=0) / Fraction(len(values))


def vector(x: Fraction, y: Fraction) -> np.ndarray:
    """Return a vector of the plane."""
    return np.array([x, y], dtype=object)
