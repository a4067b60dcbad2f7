"""SCAFFOLD on convex clients: what a round gains."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.theory.checker import Sides, at_most
from clusterproof.theory.exact.planar_clients import PlanarClients, mean
from clusterproof.theory.papers.scaffold.rounds import PAPER, Round, Start, psi


@PAPER.claim("convex", label="SCAFFOLD, convex clients (ours)", kind="upper", budget=60)
def convex(clients: PlanarClients, start: Start) -> dict[str, Sides]:
    """On convex clients a round of SCAFFOLD gains the gap at its start (I), or those along the clients' paths (II).

    Hypotheses
        f_i convex and L-smooth, any number of clients, all of them in every round, exact gradients, eta_g = 1, eta L
        K <= 1;
        c = mean c_i; x* any minimiser of f = mean f_i.

    Statement
        I: Psi+ <= Psi - (1/4) eta K (f(x) - f*) with Psi = ||x - x*||^2 + (1/4) (K eta)^2 mean ||c_i - c - g_i*||^2.
        II: Psi+ <= Psi - 2 eta sum over k of mean D_i(y_i^k) with Psi = ||x - x*||^2 + (K eta)^2 mean ||c_i - c -
        g_i*||^2 and D_i(y) = f_i(y) - f_i(x*) - <g_i*, y - x*>, where y_i^0 = x, ..., y_i^(K-1) are the client's
        points.

    Source
        Ours. Upper bounds; the mean gap of R rounds is at most 4 Psi_0 / (eta K R). SCAFFOLD is Algorithm 1 of
        Karimireddy et al. (2020).

    Checked
        In rational arithmetic, on clients in the plane whose losses are not quadratic.
    """
    round_ = Round(clients, start)
    found = {}
    for option, weight in (("I", round_.length**2 / 4), ("II", round_.length**2)):
        gaps = [mean(clients.values(point)) for point in round_.path[0][:-1]]
        gained = (
            round_.length * gaps[0] / 4 if option == "I" else 2 * round_.step_size * sum(gaps, Fraction(0))
        )
        found[option] = at_most(
            psi(round_.next_model, round_.next_controls(option), weight),
            before=psi(round_.model, round_.controls, weight),
            gained=-gained,
        )
    return found
