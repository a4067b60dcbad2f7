"""FedLin's rate as it is recalled, and the sharp rate of a round with the term that it has to spare."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import Sides, at_most, claim, integers, rationals, suppose
from clusterproof.theory.exact.algebra import NotNegative
from clusterproof.theory.exact.planar_clients import Coordinate, PlanarClients, mean, squares, vector
from clusterproof.theory.papers.scaffold.convex import QUARTER, UpToQuarter
from clusterproof.theory.papers.scaffold.convex import convex as scaffold_convex
from clusterproof.theory.papers.scaffold.option_1 import THIRD, UpToThird, sharp_option_1
from clusterproof.theory.papers.scaffold.rounds import Round, Start

Pace = Annotated[Fraction, rationals(0, 1, 4)]
"""eta L K."""
LocalSteps = Annotated[int, integers(1, 6, upwards=True)]


def fedlin_round(clients: PlanarClients, x: Fraction, y: Fraction, pace: Fraction, local_steps: int) -> Round:
    """Return a round of SCAFFOLD I whose c_i are the gradients at x."""
    start = Start(x, y, Fraction(0), Fraction(0), pace, local_steps)
    return Round(clients, start, fedlin=True)


@claim("fedlin/sharp", label="FedLin, one round", judges="ours", tight=True, evaluations=60)
def sharp(clients: PlanarClients, x: Coordinate, y: Coordinate, pace: Pace, local_steps: LocalSteps) -> Sides:
    """A round of FedLin contracts by (1 - eta mu)^(2K), and has a multiple of the gradients' disagreement to spare.

    Hypotheses
        f_i L-smooth and mu-strongly convex with 0 <= mu < L, any number of clients, all of them in every round, exact
        gradients, eta L K <= 1.

    Statement
        ||x+ - x*||^2 <= rho ||x - x*||^2 - (1/3) (eta K)^2 (1 - rho) mean ||grad f_i(x) - grad f(x) - g_i*||^2 with
        rho = (1 - eta mu)^(2K).

    Proof
        That of ``scaffold/sharp-option-1`` for c_i = grad f_i(x), where Psi and Psi+ have the same second term: the
        step "round", and the steps of that claim.

    Source
        Ours. Upper bound of one round, attained by f_i = mu ||.||^2 / 2. Hence f(x_R) - f* <= kappa rho^R (f(x_0) -
        f*).

    Symbols
        eta ``step_size``, K ``local_steps`` (tau of the paper), g_i* = grad f_i(x*); + is after a round.
    """
    round_ = fedlin_round(clients, x, y, pace, local_steps)
    disagreement, before = mean(squares(round_.controls)), squares(round_.model).item()
    return at_most(
        squares(round_.next_model).item(),
        decrease_from=before,
        contraction=round_.rate * before,
        spared=-THIRD * round_.length**2 * (1 - round_.rate) * disagreement,
    )


@sharp.step("round", needed=False)
def whole_round(
    distance: NotNegative, controls: NotNegative, rate: NotNegative, used: UpToThird, lost: NotNegative
) -> Sides:
    """The step "round" of ``scaffold/sharp-option-1``, with the controls' term of Psi+ on the other side."""
    after = rate * (distance + used * controls) - lost - THIRD * controls
    return at_most(after, contraction=rate * distance, spared=-THIRD * (1 - rate) * controls)


sharp.statements += [each for each in sharp_option_1.statements if each.role == "lemma"]


@claim("fedlin/convex", label="FedLin, convex clients", judges="ours", evaluations=60)
def convex(
    clients: PlanarClients, x: Coordinate, y: Coordinate, pace: Pace, local_steps: LocalSteps
) -> Sides:
    """On convex clients a round of FedLin gains a quarter of eta K times the gap.

    Hypotheses
        f_i convex and L-smooth, any number of clients, all of them in every round, exact gradients, eta L K <= 1; x*
        any minimiser of f.

    Statement
        ||x+ - x*||^2 <= ||x - x*||^2 - (1/4) eta K (f(x) - f*).

    Proof
        That of I in ``scaffold/convex`` for c_i = grad f_i(x), where Psi and Psi+ have the same second term: the step
        "round", and the steps of that claim.

    Source
        Ours. Upper bound; the mean gap of R rounds is at most 4 ||x_0 - x*||^2 / (eta K R).
    """
    round_ = fedlin_round(clients, x, y, pace, local_steps)
    gap = mean(clients.values(round_.model + 0 * round_.controls))
    return at_most(
        squares(round_.next_model).item(),
        before=squares(round_.model).item(),
        gap=-round_.length / 4 * gap,
    )


@convex.step("round", needed=False)
def whole_convex_round(
    distance: NotNegative, controls: NotNegative, used: UpToQuarter, lost: NotNegative, gained: NotNegative
) -> Sides:
    """The step "round" of ``scaffold/convex``, with the controls' term of Psi+ on the other side."""
    after = distance + used * controls - lost - gained - QUARTER * controls
    return at_most(after, before=distance, gap=-gained)


convex.statements += [
    each
    for each in scaffold_convex.statements
    if each.role == "lemma" and each.name != "one local step of II"
]


def recalled_rate(smoothness: Any, strong_convexity: Any) -> Any:
    """1 - mu / (6 L)."""
    return 1 - strong_convexity / (6 * smoothness)


@claim("fedlin/rate", label="FedLin's rate (recalled)", evaluations=50)
def rate(
    clients: PlanarClients,
    x: Coordinate,
    y: Coordinate,
    local_steps: LocalSteps,
    rounds: Annotated[int, integers(1, 2)],
) -> Sides:
    """FedLin's gap contracts by 1 - 1 / (6 kappa) in a round.

    Hypotheses
        f_i L-smooth and mu-strongly convex, mu > 0, all clients in every round, exact gradients, eta = 1 / (6 L K).

    Statement
        f(x_T) - f* <= (1 - mu / (6 L))^T (f(x_0) - f*).

    Source
        Mitra, Jaafar, Pappas and Hassani (2021), recalled: the text was not read. Upper bound, loose by about 2 in the
        exponent: semidefinite programs of one round give (1 - eta mu)^(2K), which equal clients attain.
    """
    suppose("0 < mu < L", 0 < clients.strong_convexity < clients.smoothness)
    factor, first = recalled_rate(clients.smoothness, clients.strong_convexity), vector(x, y)
    model = first
    for _ in range(rounds):
        model = fedlin_round(clients, model[0], model[1], Fraction(1, 6), local_steps).next_model
    every = clients.deviations(Fraction(0), Fraction(0))
    before = mean(clients.values(first + every))
    return at_most(mean(clients.values(model + every)), rate=factor**rounds * before, decrease_from=before)
