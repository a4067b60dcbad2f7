"""Claims about FedLin: the rate of its paper, recalled from memory, and the best possible rate of a round."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.checker.claims import Sides, at_most, claim, integers, suppose
from clusterproof.methods.controls import fedlin
from clusterproof.methods.exact import exact_clients
from clusterproof.theory.bounds.round_theorems import RoundCase, contraction_theorem
from clusterproof.theory.exact.algebra import NotNegative
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, mean, squares, vector
from clusterproof.theory.papers.scaffold.convex import QUARTER, UpToQuarter
from clusterproof.theory.papers.scaffold.convex import convex as scaffold_convex
from clusterproof.theory.papers.scaffold.option_1 import THIRD, UpToThird, sharp_option_1
from clusterproof.theory.papers.scaffold.rounds import LocalSteps, Pace, contraction, rate_of, step_size_of


def after_round(clients: PlanarClients, model: np.ndarray, step_size: Fraction, steps: int) -> np.ndarray:
    """Return x+ - x* for clients with g_i* = 0. The rounds of FedLin do not depend on the g_i*."""
    of_clients = exact_clients(clients.functions(), [steps] * clients.clients)
    return np.asarray(fedlin(of_clients, model, step_size=step_size))


SHARP = contraction_theorem(
    claim="fedlin/sharp",
    algorithm="fedlin",
    needs=RoundCase.needs_short_rounds,
    rate=rate_of,
    weight=lambda _: 0,
)


@claim(
    "fedlin/sharp",
    label="FedLin, one round",
    source="ours",
    tight=True,
    evaluations=60,
    expected="consistent, tight within 2",
    headline=(
        "A round of FedLin with K local steps contracts the error by (1 - eta mu)^(2K). No "
        "instance that was tried breaks this."
    ),
)
def sharp(clients: PlanarClients, x: Coordinate, y: Coordinate, pace: Pace, local_steps: LocalSteps) -> Sides:
    """A FedLin round multiplies the squared distance by at most (1 - eta mu)^(2K), and subtracts a disagreement term.

    Hypotheses
        The f_i are L-smooth and mu-strongly convex with 0 <= mu < L, and eta L K <= 1. Any number of clients take part,
        all in every round, with exact gradients.

    Statement
        ||x+ - x*||^2 <= rho ||x - x*||^2 - (1/3) (eta K)^2 (1 - rho) mean ||grad f_i(x) - grad f(x) - g_i*||^2 with
        rho = (1 - eta mu)^(2K) and g_i* = grad f_i(x*).

    Proof
        The proof is the proof of ``scaffold/sharp-option-1`` with c_i = grad f_i(x), where Psi and Psi+ have the same
        second term. It uses the step "round" and the steps of ``scaffold/sharp-option-1``.

    Source
        Ours. Both sides are equal for f_i = mu ||.||^2 / 2. The claim implies f(x_R) - f* <= kappa rho^R (f(x_0) -
        f*).
    """
    eta, model = step_size_of(clients, pace, local_steps), vector(x, y)
    rate, before = contraction(eta, clients.strong_convexity, local_steps), squares(model).item()
    gradients = np.array([gradient(model) for gradient in clients.functions()])
    disagreement = mean(squares(gradients - mean(gradients)))
    return at_most(
        squares(after_round(clients, model, eta, local_steps)).item(),
        decrease_from=before,
        contraction=rate * before,
        spared=-THIRD * (local_steps * eta) ** 2 * (1 - rate) * disagreement,
    )


@sharp.step("round", needed=False)
def whole_round(
    distance: NotNegative, controls: NotNegative, rate: NotNegative, used: UpToThird, lost: NotNegative
) -> Sides:
    """Check the step "round" of ``scaffold/sharp-option-1``, with the controls' term of Psi+ on the other side."""
    after = rate * (distance + used * controls) - lost - THIRD * controls
    return at_most(after, contraction=rate * distance, spared=-THIRD * (1 - rate) * controls)


sharp.statements += [each for each in sharp_option_1.statements if each.role == "lemma"]


@claim(
    "fedlin/convex",
    label="FedLin, convex clients",
    source="ours",
    evaluations=60,
    expected="consistent, tight within 2",
    headline=True,
)
def convex(
    clients: PlanarClients, x: Coordinate, y: Coordinate, pace: Pace, local_steps: LocalSteps
) -> Sides:
    """On convex losses, a round of FedLin decreases the squared distance by at least (1/4) eta K (f(x) - f*).

    Hypotheses
        The f_i are convex and L-smooth, eta L K <= 1, and x* is any minimiser of f. Any number of clients take part,
        all in every round, with exact gradients.

    Statement
        ||x+ - x*||^2 <= ||x - x*||^2 - (1/4) eta K (f(x) - f*).

    Proof
        The proof is the proof of I in ``scaffold/convex`` with c_i = grad f_i(x), where Psi and Psi+ have the same
        second term. It consists of the step "round" and the steps of that claim.

    Source
        Ours. The claim implies that the mean of f - f* over R rounds is at most 4 ||x_0 - x*||^2 / (eta K R).
    """
    eta, model = step_size_of(clients, pace, local_steps), vector(x, y)
    return at_most(
        squares(after_round(clients, model, eta, local_steps)).item(),
        before=squares(model).item(),
        gap=-local_steps * eta / 4 * clients.mean_gap([model] * clients.clients),
    )


@convex.step("round", needed=False)
def whole_convex_round(
    distance: NotNegative, controls: NotNegative, used: UpToQuarter, lost: NotNegative, gained: NotNegative
) -> Sides:
    """Check the step "round" of ``scaffold/convex``, with the controls' term of Psi+ on the other side."""
    after = distance + used * controls - lost - gained - QUARTER * controls
    return at_most(after, before=distance, gap=-gained)


convex.statements += [
    each
    for each in scaffold_convex.statements
    if each.role == "lemma" and each.name != "one local step of II"
]


def recalled_rate(smoothness: Any, strong_convexity: Any) -> Any:
    """Return 1 - mu / (6 L)."""
    return 1 - strong_convexity / (6 * smoothness)


@claim(
    "fedlin/rate",
    label="FedLin's rate (recalled)",
    evaluations=50,
    expected="consistent, tight within 2",
    headline=True,
)
def rate(
    clients: PlanarClients,
    x: Coordinate,
    y: Coordinate,
    local_steps: LocalSteps,
    rounds: Annotated[int, integers(1, 2)],
) -> Sides:
    """A round of FedLin multiplies f(x) - f* by at most 1 - 1 / (6 kappa).

    Hypotheses
        The f_i are L-smooth and mu-strongly convex with mu > 0, all clients take part in every round with exact
        gradients, and eta = 1 / (6 L K).

    Statement
        f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*).

    Source
        Mitra, Jaafar, Pappas and Hassani (2021), recalled from memory: we did not read the paper. The exponent is
        about half of the best possible exponent. Semidefinite programs for one round have the value (1 - eta
        mu)^(2K), which equal clients attain.
    """
    suppose("mu > 0", clients.strong_convexity > 0)
    eta, first = step_size_of(clients, Fraction(1, 6), local_steps), vector(x, y)
    model = first
    for _ in range(rounds):
        model = after_round(clients, model, eta, local_steps)
    before, after = (clients.mean_gap([point] * clients.clients) for point in (first, model))
    factor = recalled_rate(clients.smoothness, clients.strong_convexity)
    return at_most(after, rate=factor**rounds * before, decrease_from=before)
