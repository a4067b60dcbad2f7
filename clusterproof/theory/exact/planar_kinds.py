"""Clients in the plane by their two kinds: all clients of a kind are equal, so that two counts give any number of them.

This module is in the kernel's language, with the facts about the parts that a proof for every number of clients, every
strength and every knee uses. A vector is a pair of numbers; other pairs have a value for each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.claims import known
from clusterproof.theory.exact.planar_clients import PlanarClients

Vector = tuple[Any, Any]
FIRST, TURNS = (1, 0), ((1, 0), (Fraction(3, 5), Fraction(4, 5)), (0, 1))
"""The direction a_i of the first kind, and the possible directions of the second kind."""


def square(one: Vector) -> Any:
    """Return the squared length."""
    return one[0] ** 2 + one[1] ** 2


def combined(*terms: tuple[Any, Vector]) -> Vector:
    """Return the sum of multiples of vectors."""
    return sum(factor * one[0] for factor, one in terms), sum(factor * one[1] for factor, one in terms)


def counts(clients: PlanarClients) -> tuple[Any, Any]:
    """Clients of two kinds, which alternate."""

    def both() -> tuple[Any, Any]:
        second = clients.clients // 2  # fractions, so that a quotient of two counts is a fraction
        return Fraction(clients.clients - second), Fraction(second)

    return known(both, lambda number: (2 * number[0] >= 1, number[1] >= 0))


def total(number: tuple[Any, Any], values: Sequence[Any]) -> Any:
    """Return the sum over all clients."""
    return number[0] * values[0] + number[1] * values[1]


def deviations(number: tuple[Any, Any], one: Vector) -> tuple[Vector, Vector]:
    """Return a vector and its opposite, minus their mean over all clients."""
    first, second = number
    clients = first + second
    twice = known(lambda: (2 * one[0] / clients, 2 * one[1] / clients), lambda _: ())
    return combined((second, twice)), combined((-first, twice))


def gradient_step(
    clients: PlanarClients, kind: int, distance: Vector, flat: Any, steep: Any, rate: Any
) -> Vector:
    """Return d - gamma u(d) of a kind, for its distance d from x*.

    Parameters
    ----------
    clients, kind
        The clients, and the kind, 0 or 1.
    distance
        d.
    flat, steep
        1 - gamma mu and 1 - gamma L: a step shrinks by the first across a_i and, up to the knee, at most by the second
        along.
    rate
        At least the squares of both and their product: a proof uses that the step shrinks at least so much, squared.
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
