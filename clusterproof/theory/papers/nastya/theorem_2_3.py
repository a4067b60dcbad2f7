"""Theorem 2.3 on NASTYA without compression."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.checker import Family, Sides, at_most, integers, rationals, suppose
from clusterproof.theory.exact.sampled_clients import SampledClients, average

TRANSCRIBED = Family("nastya", transcribed=True)
Pace = Annotated[Fraction, rationals(0, 1, 4)]


EQUAL_SAMPLES = {
    "clients": SampledClients(2, 3, Fraction(1), Fraction(0), "clients", Fraction(1), Fraction(0), False),
    "local_pace": Fraction(1),
    "server_pace": Fraction(1),
}
"""Clients of curvature 1 and 0 whose samples are equal: there the floor is that of zeta* alone."""


class Law:
    """A round as x - x* <- scale (x - x*) + offset + noise, and the bound's parts.

    Attributes
    ----------
    scale, offset, variance
        Of the map, and of the noise, over all orders.
    rate
        1 - eta mu / 2.
    """

    def __init__(self, clients: SampledClients, local_pace: Fraction, server_pace: Fraction) -> None:
        suppose("eta > 0 and gamma > 0", local_pace > 0 and server_pace > 0)
        self.clients, n = clients, clients.samples
        curvatures, self.gradients = clients.curvatures, clients.gradients
        self.mu, self.largest = average(curvatures.flat), Fraction(curvatures.max())
        suppose("mu > 0", self.mu > 0)
        self.gamma, eta = local_pace / (5 * n * self.largest), server_pace / (16 * self.largest)
        self.rate = 1 - eta * self.mu / 2
        kept, shift, variance = [], [], Fraction(0)
        for own, gradients in zip(curvatures, self.gradients, strict=True):
            ends = []
            for order in clients.orders():
                point = Fraction(0)
                for sample in order:
                    point -= self.gamma * (own[sample] * point + gradients[sample])
                ends.append(point)
            kept.append(math.prod(1 - self.gamma * curvature for curvature in own))
            shift.append(average(ends))
            variance += average(end**2 for end in ends) - average(ends) ** 2
        server = eta / (self.gamma * n)
        self.scale, self.offset = 1 - server * (1 - average(kept)), server * average(shift)
        self.variance = (server / clients.clients) ** 2 * variance

    def floor(self) -> dict[str, Any]:
        """(9/2) gamma^2 (n L_max / mu) ((n + 1) zeta*^2 + sigma*^2)."""
        n, means = self.clients.samples, [average(row) for row in self.gradients]
        within = (average((row - each) ** 2) for row, each in zip(self.gradients, means, strict=True))
        factor = Fraction(9, 2) * self.gamma**2 * n * self.largest / self.mu
        between = average(each**2 for each in means)
        return {"clients": factor * (n + 1) * between, "samples": factor * average(within)}


@TRANSCRIBED.claim("theorem-2.3", label="Theorem 2.3, no compression", kind="upper", budget=80)
def theorem_2_3(
    clients: SampledClients,
    start: Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)],
    local_pace: Pace,
    server_pace: Pace,
    rounds: Annotated[int, integers(1, 3, upwards=True)],
) -> Sides:
    """NASTYA without compression converges linearly to a floor of the disagreements at the optimum.

    Hypotheses
        omega = 0; f_m^i convex and L_max-smooth, f mu-strongly convex; every client passes over its n samples in its
        own random order; 0 < eta <= 1 / (16 L_max), 0 < gamma <= 1 / (5 n L_max).

    Statement
        E ||x_T - x*||^2 <= (1 - eta mu / 2)^T ||x_0 - x*||^2
        + (9/2) gamma^2 (n L_max / mu) ((n + 1) zeta*^2 + sigma*^2).

    Symbols
        n ``samples``, eta and gamma the step sizes of the server and the clients, zeta*^2 = mean ||grad f_m(x*)||^2,
        sigma*^2 = mean ||grad f_m^i(x*) - grad f_m(x*)||^2.

    Source
        Sadiev et al. (2022), Theorem 2.3 with omega = 0, read in a transcription. Upper bound, loose: on equal
        samples a floor of one round by semidefinite programming is 20 to 82 times smaller for n >= 2, and 0 for n =
        1.

    Checked
        Scalar quadratic samples: exact moments over all orders, in rational arithmetic.
    """
    law = Law(clients, local_pace, server_pace)
    first, second = start, start**2
    for _ in range(rounds):
        second = law.scale**2 * second + 2 * law.scale * law.offset * first + law.offset**2 + law.variance
        first = law.scale * first + law.offset
    return at_most(second, start=law.rate**rounds * start**2, **law.floor())


@theorem_2_3.also("limit", budget=80, extremes=[EQUAL_SAMPLES])
def limit(clients: SampledClients, local_pace: Pace, server_pace: Pace) -> Sides:
    """T -> infinity, where the floor is left."""
    law = Law(clients, local_pace, server_pace)
    first = law.offset / (1 - law.scale)
    second = (2 * law.scale * law.offset * first + law.offset**2 + law.variance) / (1 - law.scale**2)
    return at_most(second, start=Fraction(0), **law.floor())
