"""Rates of one iteration of ProxSkip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.claims import Sides, at_most, claim, equal, integers, known, rationals, suppose
from clusterproof.theory.definitions.proxskip import proxskip_iteration
from clusterproof.theory.exact.algebra import NotNegative
from clusterproof.theory.exact.algebra import Share as Part
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, squares, vector
from clusterproof.theory.exact.planar_kinds import (
    Vector,
    combined,
    counts,
    deviations,
    gradient_step,
    square,
    total,
)


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


def expected_psi(
    clients: PlanarClients,
    start: Start,
    iterations: int = 0,
    noise: Sequence[np.ndarray | None] = (None,),
) -> Fraction:
    """E Psi after some iterations, where all g_i* are 0, and gradients have one of equally likely errors (N, 2)."""
    p, step_size = start.probability, start.step_length / clients.smoothness
    suppose("gamma > 0 and p > 0", step_size > 0 and p > 0)
    models = list(vector(start.x, start.y) + clients.deviations(start.spread, Fraction(0)))
    states: list[Any] = [(Fraction(1), models, list(clients.deviations(start.control_x, start.control_y)))]
    for _ in range(iterations):
        states = [
            (
                chance * share / len(noise),
                *proxskip_iteration(clients.functions(error), x, h, step_size, p, coin),
            )
            for chance, x, h in states
            for error in noise
            for coin, share in ((True, p), (False, 1 - p))
        ]
    weight = (step_size / p) ** 2
    return sum(
        (chance * (squares(np.array(x)) + weight * squares(np.array(h))).sum() for chance, x, h in states),
        start=Fraction(0),
    )


def one_iteration(clients: PlanarClients, start: Start) -> tuple[Any, ...]:
    """Return rate, Psi, E Psi+ and sums: ||x_i - x* - gamma (grad f_i(x_i) - g_i*)||^2 and controls, ||x_i - x*||^2.

    The rate is max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}, and controls are gamma^2 / p^2 ||h_i - g_i*||^2. A
    vector is a pair of numbers, of which an iteration treats each in the same way, and a pair has a value for either
    kind of clients.
    """
    p, number = start.probability, counts(clients)
    suppose("gamma > 0 and p > 0", start.step_length > 0 and p > 0)
    gamma = known(lambda: start.step_length / clients.smoothness, lambda step: step > 0)
    weight = known(lambda: gamma / p, lambda quotient: quotient > 0)
    suppose("gamma > 0", weight * p > 0)
    flat, steep = known(
        lambda: (1 - gamma * clients.strong_convexity, 1 - gamma * clients.smoothness), lambda _: ()
    )
    rate = known(
        lambda: max(flat**2, steep**2, 1 - p**2),
        lambda most: (most >= flat**2, most >= steep**2, most >= flat * steep, most >= 1 - p**2),
    )
    apart = deviations(number, (start.spread, 0))
    models = known(lambda: tuple(combined((1, (start.x, start.y)), (1, one)) for one in apart), lambda _: ())
    moved = tuple(gradient_step(clients, kind, models[kind], flat, steep, rate) for kind in range(2))
    controls = deviations(number, (start.control_x, start.control_y))

    def of(vectors: Sequence[Vector]) -> Any:
        return total(number, [square(one) for one in vectors])

    def gradient(kind: int, axis: int) -> Callable[[Any], Any]:
        return lambda x: (x - moved[kind][axis]) / (weight * p)

    def after(communicates: bool) -> Any:
        (x, along_x), (y, along_y) = [
            proxskip_iteration(
                [gradient(0, axis), gradient(1, axis)],
                [one[axis] for one in models],
                [one[axis] for one in controls],
                weight * p,
                p,
                communicates,
                weights=[each / (number[0] + number[1]) for each in number],
            )
            for axis in range(2)
        ]
        return of(list(zip(x, y, strict=True))) + weight**2 * of(list(zip(along_x, along_y, strict=True)))

    weighed = weight**2 * of(controls)
    expected = p * after(True) + (1 - p) * after(False)
    return rate, of(models) + weighed, expected, of(moved), weighed, of(models)


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
        start, E over the coins; g_i* = grad f_i(x*).
    """
    _, _, expected, moved, controls, _ = one_iteration(clients, start)
    return equal((expected, moved + (1 - start.probability**2) * controls))


Iterations = Annotated[int, integers(1, 3)]


def sharp_rate(step_size: Any, smoothness: Any, strong_convexity: Any, probability: Any) -> Any:
    """max{(1 - gamma mu)^2, (1 - gamma L)^2, 1 - p^2}."""
    flat, steep = 1 - step_size * strong_convexity, 1 - step_size * smoothness
    return max(flat**2, steep**2, 1 - probability**2)


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
    rate, *sums = one_iteration(clients, start)

    def by_identity(found: tuple[Any, ...]) -> tuple[bool, ...]:
        before, after, moved, controls, models = found
        kept = (1 - start.probability**2) * controls
        return moved <= rate * models, controls >= 0, before == models + controls, after == moved + kept

    before, after, *_ = known(lambda: tuple(sums), by_identity)
    return at_most(after, start=rate * before, decrease_from=before)


def printed_rate(step_size: Any, strong_convexity: Any, probability: Any) -> Any:
    """max{1 - gamma mu, 1 - p^2}."""
    return max(1 - step_size * strong_convexity, 1 - probability**2)


@claim("proxskip/theorem-6", label="Theorem 6, as transcribed", judges="reading", evaluations=50)
def theorem_6(clients: PlanarClients, start: Start, iterations: Iterations) -> Sides:
    """ProxSkip converges linearly, at max{1 - gamma mu, 1 - p^2}.

    Hypotheses
        f_i L-smooth and mu-strongly convex, exact gradients; 0 < gamma <= 1 / L, p in (0, 1]; sum of h_i = 0.

    Statement
        E Psi_T <= max{(1 - gamma mu)^T, (1 - p^2)^T} Psi_0, with Psi as in ``proxskip/identity``.

    Source
        Variance Reduced ProxSkip (2022), Theorem 6, read in a transcription. Upper bound; where the first branch
        decides it is loose by 2 in the exponent, ``proxskip/sharp`` has its square.
    """
    suppose("gamma <= 1 / L", start.step_length <= 1)
    step_size = start.step_length / clients.smoothness
    rate = printed_rate(step_size, clients.strong_convexity, start.probability)
    before = expected_psi(clients, start)
    after = expected_psi(clients, start, iterations)
    return at_most(after, start=rate**iterations * before, decrease_from=before)


@theorem_6.step("induction", needed=False)
def induction(
    before: NotNegative, spare: NotNegative, rate: Part, above: NotNegative, lost: NotNegative
) -> Sides:
    """Step T - 1 to T: (1 - gamma mu)^2 <= 1 - gamma mu, and ``proxskip/sharp``.

    ``before`` is E Psi_(T-1), of which ``before`` + ``spare`` is allowed, ``rate`` that of ``proxskip/sharp``, ``rate``
    + ``above`` the printed one, and ``lost`` what the iteration is below ``rate`` times ``before``.
    """
    return at_most(rate * before - lost, start=(rate + above) * (before + spare))
