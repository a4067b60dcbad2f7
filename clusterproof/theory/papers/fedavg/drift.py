"""A claim on FedAvg's distance from the optimum: a contraction, plus the drift of the clients at the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import Sides, at_most, claim, integers, rationals, suppose
from clusterproof.methods.averaging import fedavg
from clusterproof.methods.exact import exact_clients
from clusterproof.theory.bounds.hypotheses import Hypothesis
from clusterproof.theory.bounds.round_theorems import RoundCase, RoundTheorem
from clusterproof.theory.exact.algebra import NotNegative, Share
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, mean, squares, vector

Pace = Annotated[Fraction, rationals(0, 2, 4)]
LocalSteps = Annotated[int, integers(1, 4, upwards=True)]
Rounds = Annotated[int, integers(1, 3)]


def decay(step_size: Any, strong_convexity: Any, local_steps: int) -> Any:
    """Return r = (1 - gamma mu)^K."""
    return (1 - step_size * strong_convexity) ** local_steps


def drift_of_round(step_size: Any, smoothness: Any, local_steps: int, disagreement: float) -> float:
    """Return B = gamma^2 L (K (K - 1) / 2) zeta*."""
    return float(step_size**2 * smoothness * (local_steps * (local_steps - 1) // 2)) * disagreement


def drift_needs(case: RoundCase) -> Iterator[Hypothesis]:
    """Yield the hypotheses of ``fedavg/drift``, also for FedProx without a proximal term, which equals FedAvg."""
    yield Hypothesis("--proximal", "=", 0, float(case.proximal))
    yield from case.needs_plain_means()
    longest = float(2 / (case.smoothness + case.strong_convexity))
    yield Hypothesis("step size", "<=", longest, float(case.step_size), "2/(L + mu)", case.room)


def squared_drift_bound(case: RoundCase, rounds: Any) -> Any:
    """Return the square of the bound after t rounds."""
    step_size = min(case.step_size, 2 / (case.smoothness + case.strong_convexity))
    r = float(decay(step_size, case.strong_convexity, case.local_steps))
    added = drift_of_round(step_size, case.smoothness, case.local_steps, float(case.heterogeneity))
    return after_rounds(rounds, r, case.distance, added) ** 2


def after_rounds(rounds: Any, factor: float, distance: Any, added: float) -> Any:
    """Return r^t D + (1 + r + ... + r^(t-1)) B."""
    times = rounds if factor == 1 else (1 - factor**rounds) / (1 - factor)
    return factor**rounds * distance + added * times


DRIFT = RoundTheorem(
    claim="fedavg/drift",
    algorithm="fedavg",
    client_class="strong",
    needs=drift_needs,
    squared_bound=squared_drift_bound,
)


@claim(
    "fedavg/drift",
    label="Drift bound",
    source="ours",
    evaluations=30,
    expected="consistent, tight within 2",
    headline=True,
)
def drift(
    clients: PlanarClients,
    x: Coordinate,
    y: Coordinate,
    gradient_x: Coordinate,
    gradient_y: Coordinate,
    pace: Pace,
    local_steps: LocalSteps,
    rounds: Rounds,
) -> Sides:
    """FedAvg contracts the distance from the optimum, and adds at most the drift of the clients at the optimum.

    Hypotheses
        The f_i are L-smooth and mu-strongly convex, gradients are exact, all clients take part in every round, and 0 <
        gamma <= 2 / (L + mu).

    Statement
        ||x_R - x*|| <= r^R ||x_0 - x*|| + (1 + r + ... + r^(R-1)) B with r = (1 - gamma mu)^K, B = gamma^2 L (K (K - 1)
        / 2) zeta*, zeta*^2 = mean ||g_i*||^2 and g_i* = grad f_i(x*).

    Proof
        K gradient steps of a client reduce the distance between two points by the factor r. For steps from x*, the
        first-order terms of the clients add up to 0. Moreover ||grad f_i(y_k) - g_i*|| <= L ||y_k - x*|| <= L gamma k
        ||g_i*||, since the norms of gradients do not increase along the steps.

    Source
        Ours. The first term of the bound cannot be improved, but the second term can be improved for small gamma.
    """
    smoothness, convexity = clients.smoothness, clients.strong_convexity
    suppose("0 < gamma <= 2 / (L + mu)", 0 < pace <= 2 * smoothness / (smoothness + convexity))
    step_size, at_optimum = pace / smoothness, clients.deviations(gradient_x, gradient_y)
    first = model = vector(x, y)
    for _ in range(rounds):
        of_clients = exact_clients(clients.functions(at_optimum), [local_steps] * clients.clients)
        model = fedavg(of_clients, model, step_size=step_size)
    r, zeta = decay(step_size, convexity, local_steps), math.sqrt(mean(squares(at_optimum)))
    return at_most(
        math.sqrt(squares(model).item()),
        start=float(r**rounds) * math.sqrt(squares(first).item()),
        drift=float(sum(r**k for k in range(rounds)))
        * drift_of_round(step_size, smoothness, local_steps, zeta),
    )


@drift.line("from the optimum", evaluations=30)
def from_optimum(
    clients: PlanarClients,
    gradient_x: Coordinate,
    gradient_y: Coordinate,
    pace: Pace,
    local_steps: LocalSteps,
    rounds: Rounds,
) -> Sides:
    """Check the claim from x_0 = x*, where the bound consists only of the drift."""
    return drift(clients, Fraction(0), Fraction(0), gradient_x, gradient_y, pace, local_steps, rounds)


@drift.step("induction", needed=False)
def induction(
    decay: NotNegative,
    kept: NotNegative,
    floors: NotNegative,
    drift: NotNegative,
    used: Share,
    contracts: Share,
    drifts: Share,
    together: Share,
) -> Sides:
    """Check the induction step: a round multiplies the previous bound by at most r, and adds at most B."""
    before = used * (kept + floors)
    return at_most(
        together * (contracts * decay * before + drifts * drift),
        start=decay * kept,
        drift=decay * floors + drift,
    )


@drift.step("one step contracts", evaluations=30)
def one_step(
    flat: Share, past: NotNegative, inner: NotNegative, slack: NotNegative, rest: NotNegative
) -> Sides:
    """Check ||d - gamma u||^2 <= (1 - gamma mu)^2 ||d||^2 for sums over clients, as in ``proxskip/sharp``.

    u = mu d + (L - mu) z, with ``inner`` = ||z||^2, ``slack`` = <z, d> - ||z||^2 and ``rest`` = ||d - z||^2; ``flat``
    is 1 - gamma mu, and gamma (L - mu) = 2 ``flat`` / (1 + ``past``) at most 2 ``flat``: gamma <= 2 / (L + mu).
    """
    span, total = 2 * flat / (1 + past), inner + 2 * slack + rest
    moved = flat**2 * total - 2 * flat * span * (inner + slack) + span**2 * inner
    return at_most(moved, flat=flat**2 * total)


@drift.step("gradients do not grow", evaluations=30)
def gradients(
    pace: Annotated[Any, rationals(0, 2, 4)], gradient: NotNegative, change: NotNegative, slack: NotNegative
) -> Sides:
    """||g+||^2 <= ||g||^2 for gamma <= 2 / L, where g+ = g - c and <c, y - y+> = gamma <c, g> >= ||c||^2 / L.

    ``pace`` is gamma L, ``change`` ||c||^2, and <c, g> = (``change`` + ``slack``) / ``pace``.
    """
    # times gamma L, which is positive
    return at_most(pace * (gradient + change) - 2 * (change + slack), before=pace * gradient)
