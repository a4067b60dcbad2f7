"""Theorem 5 on ProxSkip-VR: any unbiased estimator of the gradient that has a memory of bounded error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.checker import Sides, at_most, choice, integers
from clusterproof.theory.exact.algebra import NotNegative, Number
from clusterproof.theory.exact.algebra import Share as Probability
from clusterproof.theory.exact.planar_clients import PlanarClients, squares
from clusterproof.theory.papers.proxskip.estimator import ZERO, Estimator
from clusterproof.theory.papers.proxskip.setting import TRANSCRIBED, after_coin, expected

Slowest = Annotated[str, choice("models", "memory", "controls")]
"""Which part of the Lyapunov function decides the rate."""
ONE, QUARTER = Fraction(1), Fraction(1, 4)
EQUAL = PlanarClients(2, ONE, ONE, ZERO, ZERO, ZERO, ZERO, 0)
AT_REST = Estimator(ZERO, ZERO, ZERO, ZERO, QUARTER, ZERO, QUARTER, ZERO, ZERO, QUARTER, ONE, ONE)
EXTREMES = [
    {"clients": EQUAL, "estimator": replace(AT_REST, **changed), "iterations": 1}
    for changed in (
        {"memory": ONE},
        {"noise": ONE, "counted": ONE},
        {"control_x": ONE, "spread": ZERO, "refresh": ONE, "probability": QUARTER},
    )
]
"""Starts at x*, where errors are due to the memory, to C~ and to the controls alone."""


@TRANSCRIBED.claim("theorem-5", label="Theorem 5", kind="upper", budget=60, extremes=EXTREMES)
def theorem_5(
    clients: PlanarClients, estimator: Estimator, iterations: Annotated[int, integers(1, 2)]
) -> dict[str, Sides]:
    """ProxSkip with an estimator of the gradient converges linearly to a floor that variance reduction removes.

    Hypotheses
        f mu-strongly convex; Assumption 4: E g_t = grad f(x_t), E ||g_t - grad f(x*)||^2 <= 2 A D_f(x_t, x*) + B
        sigma_t + C and E sigma_(t+1) <= 2 A~ D_f(x_t, x*) + B~ sigma_t + C~ with B~ < 1; W > B / (1 - B~) and beta =
        (B + W B~) / W, or W = 0 and beta = B~ if B = 0; 0 < gamma <= min{1 / mu, 1 / (A + W A~)}, p in (0, 1]; sum of
        h_i = 0.

    Statement
        E Psi_T <= max{(1 - gamma mu)^T, beta^T, (1 - p^2)^T} Psi_0 + gamma^2 (C + W C~) / min{gamma mu, p^2, 1 -
        beta} with Psi_t = ||x_t - x*||^2 + (gamma^2 / p^2) ||h_t - h*||^2 + gamma^2 W sigma_t.

    Proof
        By induction over iterations, by ``proxskip/identity``, in which E ||x - x* - gamma (g - g*)||^2 + gamma^2 W E
        sigma+ is at most (1 - gamma mu) ||x - x*||^2 - 2 gamma (1 - gamma (A + W A~)) D_f + gamma^2 (B + W B~) sigma
        + gamma^2 (C + W C~): <x - x*, grad f(x) - grad f(x*)> >= D_f + mu ||x - x*||^2 / 2.

    Source
        Variance Reduced ProxSkip (2022), Theorem 5 and its (5) to (7), read in a transcription. Upper bound.

    Checked
        Proved symbolically, for every estimator that meets Assumption 4 and any number of clients in any dimension.
        All outcomes of the coins, signs and memories in rational arithmetic, on clients in the plane whose losses are
        not quadratic.
    """
    rates, slowest, floor = rates_and_floor(clients, estimator)
    first, last = (estimator.psi(clients, estimator.states(clients, t)) for t in (0, iterations))
    return {slowest: at_most(last, start=rates[slowest] ** iterations * first, floor=floor)}


def rates_and_floor(
    clients: PlanarClients, estimator: Estimator
) -> tuple[dict[str, Fraction], str, Fraction]:
    """Return the rate of each part of Psi, which of them is the slowest, and the floor."""
    constants, p = estimator.constants(clients), estimator.probability
    beta = constants.memory_kept + (
        constants.memory / constants.memory_weight if constants.memory_weight else 0
    )
    rates = {
        "models": 1 - constants.step_size * clients.strong_convexity,
        "memory": beta,
        "controls": 1 - p**2,
    }
    slowest = max(rates, key=lambda name: rates[name])
    return rates, slowest, constants.added / (1 - rates[slowest])


@dataclass(frozen=True)
class Step:
    """An iteration as numbers: sums over clients, in expectation over the iterations before it.

    Attributes
    ----------
    distance, gap, memory
        ||x - x*||^2, 2 gamma D_f and gamma^2 W sigma.
    controls, cross
        ||h - h*||^2 and <h - h*, x' - x*>, x' the point before averaging.
    probability, weight
        p and gamma / p.
    forgotten, spare
        gamma W A~ and 1 - gamma (A + W A~).
    kept, noise
        B~ and gamma^2 C.
    lost_convexity, lost_gradient, lost_memory
        2 gamma times what strong convexity leaves out, gamma^2 times what the bound on E ||g - g*||^2 does, gamma^2 W
        times what that on E sigma+ does.
    over_models, over_memory, over_controls
        The rate minus 1 - gamma mu, minus beta, minus 1 - p^2.
    floor, left
        The floor, and what the iterations before it were allowed beyond their E Psi.
    """

    distance: NotNegative
    gap: NotNegative
    memory: NotNegative
    controls: NotNegative
    cross: Number
    probability: Probability
    weight: NotNegative
    forgotten: NotNegative
    spare: NotNegative
    kept: NotNegative
    noise: NotNegative
    lost_convexity: NotNegative
    lost_gradient: NotNegative
    lost_memory: NotNegative
    over_models: NotNegative
    over_memory: NotNegative
    over_controls: NotNegative
    floor: NotNegative
    left: NotNegative

    def contracts(self) -> Sides:
        """Conclude that E Psi is at most the rate times what was allowed before, without its floor, and the floor.

        The first part of gamma^2 (C + W C~) = (1 - rate) floor is the gradient's noise, the rest the memory's.
        """
        rate = 1 - self.probability**2 + self.over_controls
        product = (1 - rate + self.over_models) * self.distance + self.gap + self.lost_convexity
        gradient = (1 - self.spare - self.forgotten) * self.gap + self.noise - self.lost_gradient
        gradient += (rate - self.over_memory - self.kept) * self.memory
        moved = self.distance - product + gradient
        memory = self.forgotten * self.gap + self.kept * self.memory - self.lost_memory
        memory += (1 - rate) * self.floor - self.noise
        before = self.distance + self.weight**2 * self.controls + self.memory
        return at_most(
            after_coin(moved, self.cross, self.controls, self.probability, self.weight) + memory,
            start=rate * (before + self.left - self.floor),
            floor=self.floor,
        )


def last_iteration(clients: PlanarClients, estimator: Estimator, iterations: int) -> dict[str, Any]:
    """Return the last iteration as numbers, of which the ones before it are the induction's hypothesis."""
    constants, p = estimator.constants(clients), estimator.probability
    rates, slowest, floor = rates_and_floor(clients, estimator)
    rate, gamma, weight = rates[slowest], constants.step_size, constants.step_size / p
    states = estimator.states(clients, iterations - 1)
    following = estimator.states(clients, iterations)
    distance = expected((c, squares(x)) for c, x, _, _ in states)
    controls = expected((c, squares(h)) for c, _, h, _ in states)
    gap = 2 * gamma * expected((c, clients.values(x)) for c, x, _, _ in states)
    product = 2 * gamma * expected((c, x * clients.gradients(x)) for c, x, _, _ in states)
    outcomes = ((c / 2, g) for c, x, _, y in states for g in estimator.gradients(clients, x, y))
    second = gamma**2 * expected((c, squares(g)) for c, g in outcomes)
    sigma, refreshed = estimator.sigma(clients, states), estimator.sigma(clients, following)
    memory = gamma**2 * constants.memory_weight * sigma
    gradient_bound = gamma * constants.gradient * gap + gamma**2 * (
        constants.memory * sigma + constants.noise
    )
    memory_bound = (
        constants.memory_gradient * gap / gamma + constants.memory_kept * sigma + constants.memory_noise
    )
    step = Step(
        distance=distance,
        gap=gap,
        memory=memory,
        controls=controls,
        cross=expected((c, h * (x - gamma * (clients.gradients(x) - h))) for c, x, h, _ in states),
        probability=p,
        weight=weight,
        forgotten=gamma * constants.memory_weight * constants.memory_gradient,
        spare=1 - gamma * (constants.gradient + constants.memory_weight * constants.memory_gradient),
        kept=constants.memory_kept,
        noise=gamma**2 * constants.noise,
        lost_convexity=product - gap - gamma * clients.strong_convexity * distance,
        lost_gradient=gradient_bound - second,
        lost_memory=gamma**2 * constants.memory_weight * (memory_bound - refreshed),
        over_models=rate - rates["models"],
        over_memory=rate - rates["memory"],
        over_controls=rate - rates["controls"],
        floor=floor,
        left=rate ** (iterations - 1) * estimator.psi(clients, estimator.states(clients, 0))
        + floor
        - estimator.psi(clients, states),
    )
    return {"slowest": slowest, "step": step}


@theorem_5.proof("induction", at=last_iteration)
def induction(slowest: Slowest, step: Step) -> dict[str, Sides]:
    """Step T - 1 to T."""
    return {slowest: step.contracts()}
