"""A round of SCAFFOLD or FedLin in exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.claims import integers, rationals, suppose
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, mean, squares, vector


@dataclass(frozen=True)
class Start:
    """Where a round starts.

    Attributes
    ----------
    x, y
        x - x*.
    control_x, control_y
        c_i - c - g_i*, in turn with both signs, minus their mean.
    pace
        eta L K.
    local_steps
        K.
    """

    x: Coordinate
    y: Coordinate
    control_x: Coordinate
    control_y: Coordinate
    pace: Annotated[Fraction, rationals(0, 1, 4)]
    local_steps: Annotated[int, integers(1, 6, upwards=True)]


@dataclass(frozen=True)
class Round:
    """A round from a start; all vectors are distances from x*, g_i* and so on.

    Attributes
    ----------
    clients, start
        Of the round.
    fedlin
        Whether c_i is the gradient at x: the round is FedLin's.
    """

    clients: PlanarClients
    start: Start
    fedlin: bool = False

    def __post_init__(self) -> None:
        suppose("mu < L", self.clients.strong_convexity < self.clients.smoothness)
        suppose("eta > 0", self.start.pace > 0)

    @property
    def length(self) -> Fraction:
        """eta K."""
        return self.start.pace / self.clients.smoothness

    @property
    def step_size(self) -> Fraction:
        """eta."""
        return self.length / self.start.local_steps

    @property
    def rate(self) -> Fraction:
        """(1 - eta mu)^(2K)."""
        return (1 - self.step_size * self.clients.strong_convexity) ** (2 * self.start.local_steps)

    @cached_property
    def controls(self) -> np.ndarray:
        """c_i - c - g_i*, (N, 2)."""
        deviations = self.clients.deviations(self.start.control_x, self.start.control_y)
        if self.fedlin:
            at_start = self.clients.gradients(self.model + 0 * deviations)
            return np.asarray(at_start - mean(at_start))
        return deviations

    @property
    def model(self) -> np.ndarray:
        """x - x*."""
        return vector(self.start.x, self.start.y)

    @cached_property
    def path(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Points of the clients, and their gradients minus g_i*."""
        return self.clients.local_steps(self.model, self.controls, self.step_size, self.start.local_steps)

    @property
    def next_model(self) -> np.ndarray:
        """x+ - x*."""
        return np.asarray(mean(self.path[0][-1]))

    def next_controls(self, option: str) -> np.ndarray:
        """c_i+ - c+ - g_i*."""
        moved = self.controls + (self.model - self.path[0][-1]) / self.length
        after = self.path[1][0] if option == "I" else moved
        return np.asarray(after - mean(after))

    def psi(self, option: str, share: Fraction = Fraction(1)) -> tuple[Any, Any]:
        """||x - x*||^2 + share (K eta)^2 mean ||c_i - c - g_i*||^2 before and after the round."""
        ends = (self.model, self.controls), (self.next_model, self.next_controls(option))
        weight = share * self.length**2
        before, after = (squares(x).item() + weight * mean(squares(controls)) for x, controls in ends)
        return before, after
