"""Clients in the plane with exact gradients. Their losses are L-smooth, mu-strongly convex, and not quadratic.

All points are relative to a minimiser x* of the mean loss. A claim uses two properties of a client's loss: the
difference u_i(d) = grad f_i(x* + d) - grad f_i(x*), and the gradient at x*. The gradients at x* can be arbitrary
vectors with mean 0.

There are two kinds of clients, and clients of one kind are equal, so two counts describe any number of clients.
``square`` and the functions after it are in the kernel's language. Proofs call them with symbols for the numbers of
clients, the strengths and the knees. In these functions, a vector is a pair of numbers. All other pairs have one
value per kind of clients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.checker.claims import choice, integers, known, rationals

DIRECTIONS = np.array([[1, 0], [Fraction(3, 5), Fraction(4, 5)], [0, 1]], dtype=object)
Knee = Annotated[Fraction, choice(Fraction(100), Fraction(0), Fraction(1), Fraction(-1, 2))]
Share = Annotated[Fraction, rationals(0, 1, 2)]
Coordinate = Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]


@dataclass(frozen=True)
class PlanarClients:
    """Losses mu |d|^2 / 2 + s_i h_i(<a_i, d>), where |a_i| = 1, s_i <= L - mu, and h_i(t) = t^2 / 2 up to a knee.

    Beyond the knee, h_i is linear: h_i'(t) is min(t, w) for a knee w >= 0, and max(t, w) for w < 0. Clients 0, 2, ...
    are of the first kind, with a_i along the first axis, and clients 1, 3, ... of the second kind.

    Attributes
    ----------
    clients
        Number of clients N.
    smoothness, strong_convexity
        L and mu.
    first, second
        Strengths s_i / (L - mu) of the two kinds.
    first_knee, second_knee
        Knees w of the two kinds.
    turn
        Index in ``DIRECTIONS`` of the second kind's direction a_i.
    """

    clients: Annotated[int, integers(1, 4, upwards=True)]
    smoothness: Annotated[Fraction, choice(Fraction(1), Fraction(2))]
    strong_convexity: Annotated[Fraction, rationals(0, lambda smoothness: smoothness, 10)]
    first: Share
    first_knee: Knee
    second: Share
    second_knee: Knee
    turn: Annotated[int, choice(0, 1, 2)]

    def deviations(self, x: Fraction, y: Fraction) -> np.ndarray:
        """Return alternating vectors (x, y) and -(x, y), minus their mean, (N, 2)."""
        vectors = np.array(
            [(-x, -y) if client % 2 else (x, y) for client in range(self.clients)], dtype=object
        )
        return np.asarray(vectors - sum(vectors) / Fraction(self.clients))

    def functions(self, shifts: np.ndarray | None = None) -> list[Callable[[np.ndarray], np.ndarray]]:
        """Return one function per client, d_i -> u_i(d_i) plus a constant, where d_i is a difference from x*, (2,)."""

        def gradient_of(client: int, shift: Any) -> Callable[[np.ndarray], np.ndarray]:
            def gradient(distance: np.ndarray) -> np.ndarray:
                along, strength, _, derivative = self.bent(client, distance)
                return np.asarray(self.strong_convexity * distance + strength * derivative * along + shift)

            return gradient

        return [gradient_of(i, 0 if shifts is None else shifts[i]) for i in range(self.clients)]

    def mean_gap(self, distances: Sequence[np.ndarray]) -> Any:
        """Return the mean of f_i(x* + d_i) - f_i(x*) - <grad f_i(x*), d_i>. If all d_i are equal, it is f - f*."""

        def value(client: int, distance: np.ndarray) -> Any:
            _, strength, inner, derivative = self.bent(client, distance)
            bent = strength * (inner - derivative / 2) * derivative
            return self.strong_convexity * squares(distance).item() / 2 + bent

        return sum(map(value, range(self.clients), distances)) / Fraction(self.clients)

    def bent(self, client: int, distance: np.ndarray) -> tuple[np.ndarray, Any, Any, Any]:
        """Return a_i, s_i, t_i = <a_i, d_i> and h_i'(t_i). Note that h_i(t) = (t - h_i'(t) / 2) h_i'(t)."""
        second = client % 2
        along, share = DIRECTIONS[self.turn if second else 0], self.second if second else self.first
        inner, knee = (along * distance).sum(), self.second_knee if second else self.first_knee
        derivative = min(inner, knee) if knee >= 0 else max(inner, knee)
        return along, (self.smoothness - self.strong_convexity) * share, inner, derivative


def squares(vectors: np.ndarray) -> np.ndarray:
    """Return the squared lengths of vectors (..., d)."""
    return np.asarray((vectors**2).sum(axis=-1))


def mean(values: np.ndarray) -> Any:
    """Return the exact mean over the first axis."""
    return values.sum(axis=0) / Fraction(len(values))


def vector(x: Fraction, y: Fraction) -> np.ndarray:
    """Return a vector in the plane."""
    return np.array([x, y], dtype=object)


Vector = tuple[Any, Any]
FIRST, TURNS = (1, 0), ((1, 0), (Fraction(3, 5), Fraction(4, 5)), (0, 1))
"""The direction a_i of the first kind, and the possible directions of the second kind."""


def square(one: Vector) -> Any:
    """Return the squared length of a vector."""
    return one[0] ** 2 + one[1] ** 2


def combined(*terms: tuple[Any, Vector]) -> Vector:
    """Return a linear combination of vectors."""
    return sum(factor * one[0] for factor, one in terms), sum(factor * one[1] for factor, one in terms)


def counts(clients: PlanarClients) -> tuple[Any, Any]:
    """Return the numbers of clients of both kinds, which alternate."""

    def both() -> tuple[Any, Any]:
        second = (
            clients.clients // 2
        )  # the counts are fractions, so that a quotient of two counts is a fraction
        return Fraction(clients.clients - second), Fraction(second)

    return known(both, lambda number: (2 * number[0] >= 1, number[1] >= 0))


def total(number: tuple[Any, Any], values: Sequence[Any]) -> Any:
    """Return the sum over all clients."""
    return number[0] * values[0] + number[1] * values[1]


def deviations(number: tuple[Any, Any], one: Vector) -> tuple[Vector, Vector]:
    """Return a vector for the first kind and its opposite for the second kind, both minus the mean over all clients."""
    first, second = number
    clients = first + second
    twice = known(lambda: (2 * one[0] / clients, 2 * one[1] / clients), lambda _: ())
    return combined((second, twice)), combined((-first, twice))


def gradient_step(
    clients: PlanarClients, kind: int, distance: Vector, flat: Any, steep: Any, rate: Any
) -> Vector:
    """Return d - gamma u(d) for a client of one kind, where d is the difference from x*.

    Parameters
    ----------
    clients, kind
        The clients, and the kind, 0 or 1.
    distance
        Distance d from x*.
    flat, steep
        1 - gamma mu and 1 - gamma L. A gradient step multiplies the component orthogonal to a_i by ``flat``. It
        multiplies the component along a_i, up to the knee, by a number between ``flat`` and ``steep``.
    rate
        Upper bound on flat^2, steep^2 and flat steep. Proofs use that a step multiplies |d|^2 by at most this number.
    """
    along = TURNS[clients.turn] if kind else FIRST
    knee = clients.second_knee if kind else clients.first_knee
    strength = clients.second if kind else clients.first

    def step() -> Vector:
        t = along[0] * distance[0] + along[1] * distance[1]
        bent = known(lambda: min(t, knee) if knee >= 0 else max(t, knee), lambda h: h * (t - h) >= 0)
        pull = known(lambda: strength * bent, lambda h: h * (t - h) >= 0)
        after = known(lambda: flat * (t - pull) + steep * pull, lambda s: s**2 <= rate * t**2)
        return combined((flat, distance), (after - flat * t, along))

    return known(step, lambda after: square(after) <= rate * square(distance))
