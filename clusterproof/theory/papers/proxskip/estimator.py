"""A gradient's estimator with a memory, and the constants of its Assumption 4 on ProxSkip-VR."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.checker import rationals, suppose
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, mean, squares, vector
from clusterproof.theory.papers.proxskip.setting import expected

Part = Annotated[Fraction, rationals(0, 1, 4)]
Factor = Annotated[Fraction, rationals(0, 2, 4, upwards=True)]
State = tuple[Fraction, np.ndarray, np.ndarray, np.ndarray]
"""Its probability, the clients' x_i - x*, h_i - g_i* and y_i - x*, each (N, 2)."""
ZERO = Fraction(0)


@dataclass(frozen=True)
class Constants:
    """A, B and C of Assumption 4, A~, B~ and C~ of the memory, W and gamma."""

    gradient: Fraction
    memory: Fraction
    noise: Fraction
    memory_gradient: Fraction
    memory_kept: Fraction
    memory_noise: Fraction
    memory_weight: Fraction
    step_size: Fraction

    @property
    def added(self) -> Fraction:
        """gamma^2 (C + W C~)."""
        return self.step_size**2 * (self.noise + self.memory_weight * self.memory_noise)


@dataclass(frozen=True)
class Estimator:
    """g_i = grad f_i(x_i) + e (s L (x_i - y_i) + v), e = 1 or -1 for all; all y_i become the x_i before, or stay.

    With n = 1 for s = 0, 2 for v = 0, else 3, and f the sum over clients, Assumption 4 holds with A = L + n (s L)^2 /
    mu, B = n, C = n (1 - c) N v^2, A~ = q (s L)^2 / mu, B~ = 1 - q and C~ = q c N v^2; for s = 0 with B = 0 and C = N
    v^2.

    Attributes
    ----------
    x, y, control_x, control_y
        x_0 - x*, the same for all clients, and h_i - g_i* in turn with both signs, minus their mean.
    spread, noise, refresh
        s, v along the first axis, and q, the probability that y_i becomes x_i.
    memory
        y_i - x* at the start, along the first axis.
    counted
        c: sigma = (s L)^2 sum ||y_i - x*||^2 + c N v^2.
    excess, pace
        W (1 - B~) / B - 1, and gamma over its limit.
    probability
        p.
    """

    x: Coordinate
    y: Coordinate
    control_x: Coordinate
    control_y: Coordinate
    spread: Factor
    noise: Coordinate
    refresh: Part
    memory: Coordinate
    counted: Part
    excess: Factor
    pace: Part
    probability: Part

    def constants(self, clients: PlanarClients) -> Constants:
        """Return the constants, W and gamma."""
        mu, s, q = clients.strong_convexity, self.spread, self.refresh
        suppose("mu > 0, gamma > 0 and p > 0", min(mu, self.pace, self.probability) > 0)
        suppose("B~ < 1 and W > B / (1 - B~)", q > 0 and (s == 0 or self.excess > 0))
        noise, steep = clients.clients * self.noise**2, (s * clients.smoothness) ** 2
        terms = 1 if s == 0 else 2 if noise == 0 else 3
        b = Fraction(terms if s else 0)
        w = b * (1 + self.excess) / q
        return Constants(
            gradient=clients.smoothness + terms * steep / mu,
            memory=b,
            noise=terms * (1 - self.counted) * noise if s else noise,
            memory_gradient=q * steep / mu,
            memory_kept=1 - q,
            memory_noise=q * self.counted * noise,
            memory_weight=w,
            step_size=self.pace / (clients.smoothness + (terms + w * q) * steep / mu),
        )

    def sigma(self, clients: PlanarClients, states: list[State]) -> Fraction:
        """E sigma."""
        steep, noise = (self.spread * clients.smoothness) ** 2, clients.clients * self.noise**2
        return steep * expected((c, squares(y)) for c, _, _, y in states) + self.counted * noise

    def gradients(self, clients: PlanarClients, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Return both outcomes of g_i - g_i*."""
        error = self.spread * clients.smoothness * (x - y) + vector(self.noise, ZERO)
        return [clients.gradients(x) + sign * error for sign in (1, -1)]

    def states(self, clients: PlanarClients, iterations: int) -> list[State]:
        """Return the states after some iterations, for each coin, sign and memory."""
        gamma, p, q = self.constants(clients).step_size, self.probability, self.refresh
        every = clients.deviations(ZERO, ZERO)
        controls = clients.deviations(self.control_x, self.control_y)
        start, memory = vector(self.x, self.y), vector(self.memory, ZERO)
        states = [(Fraction(1), every + start, controls, every + memory)]
        for _ in range(iterations):
            before, states = states, []
            for c, x, h, y in before:
                for gradients in self.gradients(clients, x, y):
                    points = x - gamma * (gradients - h)
                    met = 0 * points + mean(points)
                    coins = (p, met, h + p / gamma * (met - points)), (1 - p, points, h)
                    for (coin, model, control), (kept, last) in itertools.product(
                        coins, ((q, x), (1 - q, y))
                    ):
                        states.append((c * coin * kept / 2, model, control, last))
        return states

    def psi(self, clients: PlanarClients, states: list[State]) -> Fraction:
        """E Psi."""
        constants = self.constants(clients)
        gamma, weight = constants.step_size, constants.step_size / self.probability
        parts = expected((c, squares(x) + weight**2 * squares(h)) for c, x, h, _ in states)
        return parts + gamma**2 * constants.memory_weight * self.sigma(clients, states)
