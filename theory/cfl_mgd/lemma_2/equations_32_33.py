"""(32) and (33): clients' momentum and the server's, when a client changes its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.instruments.scattered_clients import Centers, Momentum, Place
from clusterproof.theory.instruments.switching_clients import READINGS, exact_run, run_algorithm
from clusterproof.theory.statement import Family, Sides, choice, equal, integers, rationals, suppose

PAPER = Family("cfl-mgd")
ROUNDS = 2
"""chi^(2) is the first model that a client's change of cluster can touch."""
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

    @property
    def starts(self) -> list[Fraction]:
        """chi_1^0 and chi_2^0."""
        return [self.first, self.second]


def sides(one: Switcher) -> tuple[Fraction, Fraction]:
    """Give chi_1^(2) by the first and by the second line of (32), in rational arithmetic."""
    printed, server = (
        exact_run(one.centers, one.starts, momentum=one.momentum, rounds=ROUNDS, reading=reading)
        for reading in ("line 15", "server")
    )
    suppose("no client has two best models", not printed.ties)
    return printed.models[ROUNDS][0], server.models[ROUNDS][0]


def runs(one: Switcher) -> tuple[float, float]:
    """Run option I with clients' and with the server's momentum, chi_1^(2)."""
    printed, server = (
        run_algorithm(one.centers, one.starts, momentum=one.momentum, rounds=ROUNDS, owner=owner)
        for owner in ("client", "server")
    )
    return float(printed.models[ROUNDS, 0, 0]), float(server.models[ROUNDS, 0, 0])


def run_both_lines(one: Switcher) -> float:
    """Difference of the two lines of (32) by runs."""
    printed, server = runs(one)
    return abs(printed - server)


def run_both_norms(one: Switcher) -> float:
    """Difference of the second and the third line of (33) by runs."""
    printed, server = runs(one)
    return abs(abs(server - float(one.center)) - abs(printed - float(one.center)))


def foreign_momentum(one: Switcher, printed: Fraction, server: Fraction) -> str:
    """Spell the instance out."""
    return (
        f"clients at {', '.join(map(str, one.centers))}, models from {one.first} and {one.second}, eta = 1, "
        f"beta = {one.momentum}: a client that changes its cluster carries foreign momentum, chi_1^(2) = {printed} "
        f"with the clients' momentum and {server} with the server's"
    )


@PAPER.claim("equation-32", label="(32)", kind="identity", confirm=run_both_lines,
             repaired_by="cfl-mgd/equation-32-fixed-clusters")  # fmt: skip
def equation_32(one: Switcher) -> Sides:
    """Averaging the clients' momentum equals momentum on the average of their gradients.

    Hypotheses
        Option I as printed, full participation, no noise.

    Statement
        chi_1^(t+1) = chi_1^t - (eta/m) sum_(i in C_1) (beta u_i^t + g_i^t)
        = chi_1^t - (eta/m) sum_(i in C_1) g_i^t + beta (chi_1^t - chi_1^(t-1)).

    Symbols
        u_i ``momentum_owner="client"``, the right side ``momentum_owner="server"``.

    Source
        Zhao et al. (2023), (32). Identity; needs C_1^(t+1) = C_1^t. Our reading R2 takes the second
        line as the definition.

    Checked
        Both lines on scalar quadratics, in rational arithmetic, with one client that may change its
        cluster; the simplest difference of a grid, and both are run.
    """
    printed, server = sides(one)
    return equal((printed, server), words=lambda: foreign_momentum(one, printed, server))


@PAPER.claim("equation-32-fixed-clusters", label="(32), fixed clusters", kind="identity", budget=150)
def equation_32_fixed_clusters(centers: Centers, first: Place, second: Place, momentum: Momentum) -> Sides:
    """While no client changes its cluster, clients' momentum and the server's give the same models.

    Hypotheses
        Option I, full participation, C_p^(t+1) = C_p^t for all p; each u_i the mean of its cluster
        (line 15), or each its own (A19).

    Statement
        As (32).

    Symbols
        As (32).

    Source
        Ours on Zhao et al. (2023), (32). Identity.

    Checked
        Random scalar clients in rational arithmetic, 6 rounds of all three readings: wherever the
        choices did not change, the models are equal exactly.
    """
    rounds = 6
    paths = [
        exact_run(centers, [first, second], momentum=momentum, rounds=rounds, reading=reading)
        for reading in READINGS
    ]
    fixed = 1
    while fixed < rounds and paths[0].choices[fixed] == paths[0].choices[0]:
        fixed += 1
    # the round of a change is the first whose models may differ
    models = [np.array(path.models[: fixed + 1], dtype=object) for path in paths]
    return equal((models[0], models[1]), (models[0], models[2]))


@PAPER.claim("equation-33", label="(33)", kind="identity", confirm=run_both_norms,
             repaired_by="cfl-mgd/equation-32-fixed-clusters")  # fmt: skip
def equation_33(one: Switcher) -> Sides:
    """The error after a round splits into own gradients, intruders' gradients and momentum.

    Hypotheses
        As (32).

    Statement
        ||chi_1^(t+1) - chi*_1|| = ||chi_1^t - (eta/m) sum g_i^t + beta (chi_1^t - chi_1^(t-1)) - chi*_1||
        = ||chi_1^t - chi*_1 - (eta/m) sum g_i^t - (beta eta/m) sum u_i^t|| <= ||T_1|| + ||T_2|| + ||T_3||,
        sums over C_1.

    Symbols
        T_1, T_2, T_3 as (34), (36), (37).

    Source
        Zhao et al. (2023), (33). Its last step is the triangle inequality; the step from
        beta (chi_1^t - chi_1^(t-1)) to the momentum is (32) again, and needs C_1^(t+1) = C_1^t.

    Checked
        As (32), the norms of the second and the third line.
    """
    printed, server = sides(one)
    return equal(
        (abs(server - one.center), abs(printed - one.center)),
        words=lambda: foreign_momentum(one, printed, server),
    )
