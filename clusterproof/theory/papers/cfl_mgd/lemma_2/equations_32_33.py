"""(32) and (33): clients' momentum and the server's, when a client changes its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import Sides, choice, claim, equal, integers, rationals, suppose
from clusterproof.theory.exact.prescribed_samples import READINGS
from clusterproof.theory.exact.scalar_clients import (
    Centers,
    Momentum,
    Place,
    exact_run,
    run_algorithm,
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

    @property
    def starts(self) -> list[Fraction]:
        """chi_1^0 and chi_2^0."""
        return [self.first, self.second]


def sides(switcher: Switcher) -> tuple[Fraction, Fraction]:
    """Return chi_1^(2) by the first and by the second line of (32), in rational arithmetic."""
    printed, server = (
        exact_run(
            switcher.centers, switcher.starts, momentum=switcher.momentum, rounds=ROUNDS, reading=reading
        )
        for reading in ("line 15", "server")
    )
    suppose("no client has two best models", not printed.ties)
    return printed.models[ROUNDS][0], server.models[ROUNDS][0]


def runs(switcher: Switcher) -> tuple[float, float]:
    """Run option I with clients' and with the server's momentum, chi_1^(2)."""
    printed, server = (
        run_algorithm(
            switcher.centers, switcher.starts, momentum=switcher.momentum, rounds=ROUNDS, owner=owner
        )
        for owner in ("client", "server")
    )
    return float(printed.models[ROUNDS, 0, 0]), float(server.models[ROUNDS, 0, 0])


def run_both_lines(switcher: Switcher) -> float:
    """Difference of the two lines of (32) by runs."""
    printed, server = runs(switcher)
    return abs(printed - server)


def run_both_norms(switcher: Switcher) -> float:
    """Difference of the second and the third line of (33) by runs."""
    printed, server = runs(switcher)
    return abs(abs(server - float(switcher.center)) - abs(printed - float(switcher.center)))


def foreign_momentum(switcher: Switcher, printed: Fraction, server: Fraction) -> str:
    """Describe the instance in words."""
    return (
        f"clients at {', '.join(map(str, switcher.centers))}, models from {switcher.first} and {switcher.second}, "
        f"eta = 1, beta = {switcher.momentum}: a client that changes its cluster carries foreign momentum, "
        f"chi_1^(2) = {printed} with the clients' momentum and {server} with the server's"
    )


@claim(
    "cfl-mgd/equation-32",
    label="(32)",
    confirm=run_both_lines,
    repaired_by="cfl-mgd/equation-32-fixed-clusters",
)
def equation_32(switcher: Switcher) -> Sides:
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
    """
    printed, server = sides(switcher)
    return equal((printed, server), words=lambda: foreign_momentum(switcher, printed, server))


@claim("cfl-mgd/equation-32-fixed-clusters", label="(32), fixed clusters", judges="ours", evaluations=150)
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


@claim(
    "cfl-mgd/equation-33",
    label="(33)",
    confirm=run_both_norms,
    repaired_by="cfl-mgd/equation-32-fixed-clusters",
)
def equation_33(switcher: Switcher) -> Sides:
    """The error after a round splits into own gradients, false members' gradients and momentum.

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
    """
    printed, server = sides(switcher)
    return equal(
        (abs(server - switcher.center), abs(printed - switcher.center)),
        words=lambda: foreign_momentum(switcher, printed, server),
    )
