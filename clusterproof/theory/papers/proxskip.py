"""Rates of one iteration of ProxSkip."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.claims import Sides, at_most, claim, equal, integers, known, rationals, suppose
from clusterproof.theory.exact.algebra import NotNegative, Number
from clusterproof.theory.exact.algebra import Share as Part
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, mean, squares
from clusterproof.theory.exact.planar_kinds import (
    Vector,
    combined,
    counts,
    deviations,
    gradient_step,
    square,
    total,
)

State = tuple[Fraction, np.ndarray, np.ndarray]
"""Its probability, the clients' x_i - x* and h_i - g_i*, both (N, 2)."""
NO_NOISE = (np.zeros(2, int),)


@dataclass(frozen=True)
class Start:
    """Where the clients start and how they step.

    Attributes
    ----------
    x, y
        Mean of the x_i - x*.
    spread
        Their deviations from the mean, along the first axis.
    control_x, control_y
        h_i - g_i*, in turn with both signs, minus their mean.
    step_length
        gamma L.
    probability
        p.
    """

    x: Coordinate
    y: Coordinate
    spread: Coordinate
    control_x: Coordinate
    control_y: Coordinate
    step_length: Annotated[Fraction, rationals(0, 2, 4, upwards=True)]
    probability: Annotated[Fraction, rationals(0, 1, 4)]

    def weight(self, clients: PlanarClients) -> Fraction:
        """gamma / p."""
        suppose("gamma > 0 and p > 0", self.step_length > 0 and self.probability > 0)
        return self.step_length / clients.smoothness / self.probability

    def states(
        self, clients: PlanarClients, iterations: int = 0, noise: Sequence[np.ndarray] = NO_NOISE
    ) -> list[State]:
        """Return the states after some iterations, for each coin and each of the gradients' equally likely errors."""
        weight, p = self.weight(clients), self.probability
        start = np.array([self.x, self.y], dtype=object) + clients.deviations(self.spread, Fraction(0))
        states = [(Fraction(1), start, clients.deviations(self.control_x, self.control_y))]
        for _ in range(iterations):
            before, states = states, []
            for (chance, models, controls), error in itertools.product(before, noise):
                points = models - weight * p * (clients.gradients(models) + error - controls)
                met, share = 0 * points + mean(points), chance / len(noise)
                states.append((share * p, met, controls + (met - points) / weight))
                states.append((share * (1 - p), points, controls))
        return states

    def psi(
        self, clients: PlanarClients, iterations: int = 0, noise: Sequence[np.ndarray] = NO_NOISE
    ) -> Fraction:
        """E Psi after some iterations."""
        weight, states = self.weight(clients), self.states(clients, iterations, noise)
        return sum((c * (squares(x) + weight**2 * squares(h)).sum() for c, x, h in states), start=Fraction(0))


def after_coin(moved: Any, cross: Any, controls: Any, probability: Any, weight: Any) -> Any:
    """E Psi after the coin.

    Parameters
    ----------
    moved, controls
        Sums of ||x_i - x* - gamma (grad f_i(x_i) - g_i*)||^2 and ||h_i - g_i*||^2.
    cross
        Sum of <h_i - g_i*, x_i' - x*>, x_i' the point before averaging.
    probability, weight
        p and gamma / p.
    """
    step = probability * weight
    points = moved + 2 * step * cross - step**2 * controls
    skips = points + weight**2 * controls
    communicates = skips - 2 * weight * cross
    return probability * communicates + (1 - probability) * skips


@dataclass(frozen=True)
class Step:
    """An iteration as numbers: sums over clients, in expectation over the coins before it.

    With u_i = grad f_i(x_i) - g_i* = mu d_i + (L - mu) z_i and d_i = x_i - x*, interpolation says <z_i, d_i> >=
    ||z_i||^2.

    Attributes
    ----------
    flat, span
        1 - gamma mu and gamma (L - mu).
    inner, slack, rest
        Sums of ||z_i||^2, <z_i, d_i> - ||z_i||^2 and ||d_i - z_i||^2.
    probability, weight
        p and gamma / p.
    controls, cross
        Sums of ||h_i - g_i*||^2 and <h_i - g_i*, x_i' - x*>, x_i' the point before averaging.
    noise
        gamma^2 times the variance of the gradients.
    rate
        What is allowed over what was.
    over_flat, over_steep, over_controls
        The rate minus (1 - gamma mu)^2, minus (1 - gamma L)^2, minus 1 - p^2.
    spare
        What the iterations before it were allowed beyond their E Psi.
    floors
        The part of that which is due to noise.
    """

    flat: Number
    span: NotNegative
    inner: NotNegative
    slack: NotNegative
    rest: NotNegative
    probability: Part
    weight: NotNegative
    controls: NotNegative
    cross: Number
    noise: NotNegative
    rate: NotNegative
    over_flat: NotNegative
    over_steep: NotNegative
    over_controls: NotNegative
    spare: NotNegative
    floors: NotNegative

    @property
    def moved(self) -> Any:
        """Sum of ||d_i - gamma u_i||^2, and the noise."""
        length = self.inner + 2 * self.slack + self.rest
        crossed = 2 * self.flat * self.span * (self.inner + self.slack)
        return self.flat**2 * length - crossed + self.span**2 * self.inner + self.noise

    def expected(self) -> Any:
        """E Psi after the coin."""
        return after_coin(self.moved, self.cross, self.controls, self.probability, self.weight)

    def terms(self) -> dict[str, Any]:
        """Return what is allowed: the rate times the start, and what is due to noise."""
        flat, steep = self.flat**2 + self.over_flat, (self.flat - self.span) ** 2 + self.over_steep
        models = flat * (self.slack + self.rest) + steep * (self.inner + self.slack)
        controls = (1 - self.probability**2 + self.over_controls) * self.weight**2 * self.controls
        start = models + controls + self.rate * (self.spare - self.floors)
        return {"start": start, "noise": self.rate * self.floors + self.noise}

    def contracts(self) -> Sides:
        """Conclude without noise that E Psi is at most the rate times what was allowed before."""
        return at_most(self.expected(), start=sum(self.terms().values()))


@dataclass(frozen=True)
class Iteration:
    """One iteration, with values for either kind of clients.

    Attributes
    ----------
    number
        Clients of either kind.
    probability, weight
        p and gamma / p.
    rate
        max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}.
    models, moved
        x_i - x* and x_i - x* - gamma (grad f_i(x_i) - g_i*).
    controls
        h_i - g_i*.
    """

    number: tuple[Any, Any]
    probability: Any
    weight: Any
    rate: Any
    models: Sequence[Vector]
    moved: Sequence[Vector]
    controls: Sequence[Vector]

    @staticmethod
    def of(clients: PlanarClients, start: Start) -> Iteration:
        """Step from a start."""
        p, number = start.probability, counts(clients)
        suppose("gamma > 0 and p > 0", start.step_length > 0 and p > 0)
        gamma = known(lambda: start.step_length / clients.smoothness, lambda step: step > 0)
        weight = known(lambda: gamma / p, lambda quotient: quotient > 0)
        flat, steep = known(
            lambda: (1 - gamma * clients.strong_convexity, 1 - gamma * clients.smoothness), lambda _: ()
        )
        rate = known(
            lambda: max(flat**2, steep**2, 1 - p**2),
            lambda most: (most >= flat**2, most >= steep**2, most >= flat * steep, most >= 1 - p**2),
        )
        apart = deviations(number, (start.spread, 0))
        models = known(
            lambda: tuple(combined((1, (start.x, start.y)), (1, one)) for one in apart), lambda _: ()
        )
        moved = tuple(gradient_step(clients, kind, models[kind], flat, steep, rate) for kind in range(2))
        controls = deviations(number, (start.control_x, start.control_y))
        return Iteration(number, p, weight, rate, models, moved, controls)

    def of_models(self, models: Sequence[Vector]) -> Any:
        """Sum of squares."""
        return total(self.number, [square(one) for one in models])

    def of_controls(self, controls: Sequence[Vector]) -> Any:
        """Sum of squares, times gamma^2 / p^2."""
        return self.weight**2 * self.of_models(controls)

    def before(self) -> Any:
        """Psi."""
        return self.of_models(self.models) + self.of_controls(self.controls)

    def expected(self) -> Any:
        """E Psi after the iteration."""
        first, second = self.number
        clients = first + second
        pairs = zip(self.moved, self.controls, strict=True)
        points = [combined((1, one), (self.weight * self.probability, control)) for one, control in pairs]
        mean = combined((first / clients, points[0]), (second / clients, points[1]))
        pairs = zip(self.controls, points, strict=True)
        learned = [
            combined((1, control), (1 / self.weight, mean), (-1 / self.weight, one)) for control, one in pairs
        ]
        communicates = self.of_models([mean, mean]) + self.of_controls(learned)
        skips = self.of_models(points) + self.of_controls(self.controls)
        return self.probability * communicates + (1 - self.probability) * skips


@claim("proxskip/identity", label="(P)", judges="ours", evaluations=40)
def identity(clients: PlanarClients, start: Start) -> Sides:
    """An iteration changes E Psi exactly as independent gradient steps and 1 - p^2 do.

    Hypotheses
        Any differentiable f_i, not necessarily convex; any gamma > 0, p in (0, 1] and N >= 1; sum of h_i = 0.

    Statement
        E Psi+ = sum ||(x_i - gamma grad f_i(x_i)) - (x* - gamma g_i*)||^2
        + (1 - p^2) (gamma^2 / p^2) sum ||h_i - g_i*||^2.

    Source
        Ours; ProxSkip is Algorithm 1 of Variance Reduced ProxSkip (2022). Identity.

    Symbols
        Psi = sum over i of ||x_i - x*||^2 + (gamma^2 / p^2) ||h_i - g_i*||^2, + is after one iteration, 0 at the
        start, E over the coins; gamma ``step_size``, p ``probability``, mu ``strong_convexity``, L ``smoothness``, N
        ``clients``; g_i* = grad f_i(x*).
    """
    one = Iteration.of(clients, start)
    kept = (1 - start.probability**2) * one.of_controls(one.controls)
    return equal((one.expected(), one.of_models(one.moved) + kept))


Iterations = Annotated[int, integers(1, 3)]


def sharp_rate(clients: PlanarClients, start: Start) -> Fraction:
    """max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}."""
    flat = 1 - start.step_length * clients.strong_convexity / clients.smoothness
    return max(flat**2, (1 - start.step_length) ** 2, 1 - start.probability**2)


@claim("proxskip/sharp", label="One-step rate", judges="ours", tight=True, evaluations=60)
def sharp(clients: PlanarClients, start: Start) -> Sides:
    """One iteration contracts by max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}, and by no less.

    Hypotheses
        f_i L-smooth and mu-strongly convex, exact gradients; any gamma > 0, p in (0, 1] and N >= 1; sum of h_i = 0.

    Statement
        E Psi+ <= max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2} Psi.

    Source
        Ours; for gamma <= 2 / (L + mu) the rate is that of RandProx (Condat and Richtarik), recalled. Upper bound of
        one step, attained by f_i = mu ||.||^2 / 2 or L ||.||^2 / 2 with h_i = g_i*, and, for N >= 2, by x_i = x*;
        asymptotic rates are smaller. With it Psi_T <= rate^T Psi_0 in expectation.
    """
    one, p = Iteration.of(clients, start), start.probability

    def psi() -> tuple[Any, ...]:
        parts = one.of_models(one.models), one.of_models(one.moved), one.of_controls(one.controls)
        return *parts, one.before(), one.expected()

    def by_identity(found: tuple[Any, ...]) -> tuple[bool, ...]:
        models, moved, controls, before, after = found
        shrinks = moved <= one.rate * models
        return shrinks, controls >= 0, before == models + controls, after == moved + (1 - p**2) * controls

    *_, before, after = known(psi, by_identity)
    return at_most(after, start=one.rate * before, decrease_from=before)


def printed_rate(clients: PlanarClients, start: Start) -> Fraction:
    """max{1 - gamma mu, 1 - p^2}."""
    suppose("gamma <= 1 / L", start.step_length <= 1)
    models = 1 - start.step_length * clients.strong_convexity / clients.smoothness
    return max(models, 1 - start.probability**2)


@claim("proxskip/theorem-6", label="Theorem 6, as transcribed", judges="reading", evaluations=50)
def theorem_6(clients: PlanarClients, start: Start, iterations: Iterations) -> Sides:
    """ProxSkip converges linearly, at max{1 - gamma mu, 1 - p^2}.

    Hypotheses
        f_i L-smooth and mu-strongly convex, exact gradients; 0 < gamma <= 1 / L, p in (0, 1]; sum of h_i = 0.

    Statement
        E Psi_T <= max{(1 - gamma mu)^T, (1 - p^2)^T} Psi_0.

    Source
        Variance Reduced ProxSkip (2022), Theorem 6, read in a transcription. Upper bound; where the first branch
        decides it is loose by 2 in the exponent, ``proxskip/sharp`` has its square.
    """
    rate = printed_rate(clients, start)
    before = start.psi(clients)
    return at_most(start.psi(clients, iterations), start=rate**iterations * before, decrease_from=before)


@theorem_6.step("induction", needed=False)
def induction(step: Step) -> Sides:
    """Step T - 1 to T: (1 - gamma mu)^2 <= 1 - gamma mu, and ``proxskip/sharp``."""
    return step.contracts()
