"""(32), (33) and (37): clients' momentum and the server's, when a client changes its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import (
    Sides,
    choice,
    claim,
    equal,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.exact.algebra import Client
from clusterproof.theory.exact.algebra import Share as Part
from clusterproof.theory.exact.prescribed_samples import READINGS, Rounds
from clusterproof.theory.exact.scalar_clients import (
    Centers,
    Momentum,
    Place,
    exact_run,
)

ROUNDS = 2
"""chi^(2) is the first model that depends on a client's change of cluster."""
Start = Annotated[Fraction, rationals(-2, 2, 2)]


@dataclass(frozen=True)
class Switcher:
    """Clients of cluster 1 at ``center``, one of cluster 2 that may change its cluster, and the models' starts."""

    own: Annotated[int, integers(1, 4)]
    center: Annotated[Fraction, choice(Fraction(1), Fraction(1, 2))]
    other_center: Annotated[Fraction, choice(Fraction(-1), Fraction(-1, 2), Fraction(0))]
    momentum: Annotated[Fraction, rationals(0, Fraction(9, 10), 2)]
    first: Start
    second: Start

    @property
    def centers(self) -> list[Fraction]:
        """The clients' minimisers."""
        return [self.center] * self.own + [self.other_center]

    def play(self, reading: str) -> Rounds:
        """Run option I by one of ``READINGS``, in rational arithmetic."""
        starts = [self.first, self.second]
        return exact_run(self.centers, starts, momentum=self.momentum, rounds=ROUNDS, reading=reading)


def second_models(printed: Rounds, server: Rounds) -> tuple[Fraction, Fraction]:
    """chi_1^(2) with the clients' and with the server's momentum."""
    return printed.models[ROUNDS][0], server.models[ROUNDS][0]


def third_terms(switcher: Switcher, printed: Rounds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(beta eta / m) u_i of each client (T, m), whether it is in C_1 (T, m), and whether in C*_1 (m,)."""
    terms = np.array(printed.momenta, dtype=object) * switcher.momentum / len(switcher.centers)
    return terms, np.array(printed.assignments) == 0, np.arange(len(switcher.centers)) < switcher.own


@claim(
    "cfl-mgd/equation-32",
    label="(32), (33), (37)",
    judges={"": "reading", "(37)": "printed"},
    repaired_by=dict.fromkeys(("(32)", "(33)"), "cfl-mgd/equation-32-fixed-clusters"),
    evaluations=600,
)
def momentum_of_the_average(switcher: Switcher) -> dict[str, Sides]:
    """Averaging the clients' momentum equals momentum on the average of their gradients.

    Hypotheses
        Option I as printed, full participation, no noise; models start anywhere.

    Statement
        With sums over C_1, and u_i the clients' momentum, which line 15 averages:

    Lines
        (32)
            chi_1^(t+1) = chi_1^t - (eta/m) sum (beta u_i^t + g_i^t) = chi_1^t - (eta/m) sum g_i^t + beta (chi_1^t -
            chi_1^(t-1)). False: needs C_1^(t+1) = C_1^t. Read: by the second (R2).
        (33)
            ||chi_1^t - (eta/m) sum g_i^t + beta (chi_1^t - chi_1^(t-1)) - chi*_1|| = ||chi_1^t - chi*_1 - (eta/m) sum
            g_i^t - (beta eta/m) sum u_i^t||. False: it is (32) again; the step after it, to ||T_1|| + ||T_2|| +
            ||T_3||, is the triangle inequality.
        (37)
            T_3 = (beta eta/m) sum u_i = (eta beta/m) sum_(C_1 n C*_1) u_i + (beta eta/m) sum_(C_1 - C*_1) u_i, a
            definition of T_31 and T_32, as (A18); their bound is (A34) of ``cfl-mgd/appendix-a27``.
        after (37)
            T_3 = beta (chi_1^(t-1) - chi_1^t) with C_1 of the round in which the u_i are sent.

    Source
        Zhao et al. (2023), (32), (33) and (37). That models start anywhere is the reading's: the paper has "Suppose
        Assumptions 1-5 hold", so that they start near the optima. There the momentum is foreign where noise makes a
        client choose wrongly: ``cfl-mgd/appendix-a18``, (A19).
    """
    printed, server = switcher.play("line 15"), switcher.play("server")
    suppose("no client has two best models", not printed.ties)
    by_clients, by_server = second_models(printed, server)
    words = (
        f"clients at {', '.join(map(str, switcher.centers))}, models from {switcher.first} and {switcher.second}, "
        f"eta = 1, beta = {switcher.momentum}: a client that changes its cluster carries foreign momentum, "
        f"chi_1^(2) = {by_clients} with the clients' momentum and {by_server} with the server's"
    )
    terms, member, own = third_terms(switcher, printed)
    third, of_own, of_false = ((terms * part).sum(axis=-1) for part in (member, member & own, member & ~own))
    moves = [switcher.momentum * (printed.models[t][0] - printed.models[t + 1][0]) for t in range(ROUNDS)]
    return {
        "(32)": equal((by_clients, by_server), words=words),
        "(33)": equal((abs(by_server - switcher.center), abs(by_clients - switcher.center)), words=words),
        "(37)": equal((third, of_own + of_false)),
        "after (37)": equal((third, np.array(moves, dtype=object))),
    }


@momentum_of_the_average.step("proof of (37)", needed=False)
def third_term_on_symbols(one: Client, is_own: Part) -> Sides:
    """The term of each client."""
    return one.of_parts(is_own)


@claim("cfl-mgd/equation-32-fixed-clusters", label="(32), fixed clusters", judges="ours", evaluations=150)
def equation_32_fixed_clusters(centers: Centers, first: Place, second: Place, momentum: Momentum) -> Sides:
    """While no client changes its cluster, clients' momentum and the server's give the same models.

    Hypotheses
        Option I, full participation, C_p^(t+1) = C_p^t for all p; each u_i the mean of its cluster
        (line 15), or each its own (A19).

    Statement
        As (32).

    Source
        Ours on Zhao et al. (2023), (32).
    """
    rounds = 6
    paths = [
        exact_run(centers, [first, second], momentum=momentum, rounds=rounds, reading=reading)
        for reading in READINGS
    ]
    fixed = 1
    while fixed < rounds and paths[0].assignments[fixed] == paths[0].assignments[0]:
        fixed += 1
    # the round of a change is the first whose models may differ
    models = [np.array(path.models[: fixed + 1], dtype=object) for path in paths]
    return equal((models[0], models[1]), (models[0], models[2]))
