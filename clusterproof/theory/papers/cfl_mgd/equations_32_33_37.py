"""Claims on (32), (33) and (37): the momentum of clients and of the server if a client changes its cluster."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.checker.claims import Q, Sides, Z, among, claim, equal, sequences, suppose
from clusterproof.theory.exact.prescribed_samples import READINGS, Rounds, exact_run
from clusterproof.theory.papers.cfl_mgd.appendix.a18_to_a25 import parts_of_the_momentum

ROUNDS = 2
"""Index of chi^(2), the first model that depends on a client's change of cluster."""
START, PLACE = Q[-2:2:2], Q[::4]


def second_models(printed: Rounds, server: Rounds) -> tuple[Fraction, Fraction]:
    """Return chi_1^(2) with the clients' momentum, and with the server's momentum."""
    return printed.models[ROUNDS][0], server.models[ROUNDS][0]


@claim(
    "cfl-mgd/equation-32",
    label="(32), (33), (37)",
    source={"": "reading", "(37)": "printed"},
    repaired_by=dict.fromkeys(("(32)", "(33)"), "cfl-mgd/equation-32-fixed-clusters"),
    evaluations=600,
    expected="violated",
    places="(33); (37)",
)
def momentum_of_the_average(
    own: int = Z[1:4],
    center: Fraction = among(Fraction(1), Fraction(1, 2)),
    other_center: Fraction = among(Fraction(-1), Fraction(-1, 2), Fraction(0)),
    momentum: Fraction = Q[0 : Fraction(9, 10) : 2],
    first: Fraction = START,
    second: Fraction = START,
) -> dict[str, Sides]:
    """The average of the clients' momentum equals the momentum of the average gradient.

    Hypotheses
        Option I runs as printed, with full participation and without noise. The initial models are arbitrary. The
        ``own`` clients of cluster 1 have their minimiser at ``center``. One client of cluster 2, with its minimiser
        at ``other_center``, may change its cluster.

    Statement
        In the lines, sums are over C_1, and u_i is the momentum of a client, which line 15 averages.

    Lines
        (32)
            chi_1^(t+1) = chi_1^t - (eta/m) sum (beta u_i^t + g_i^t) = chi_1^t - (eta/m) sum g_i^t + beta (chi_1^t -
            chi_1^(t-1)). False: the second equality needs C_1^(t+1) = C_1^t. We read (32) as its second form (R2).
        (33)
            ||chi_1^t - (eta/m) sum g_i^t + beta (chi_1^t - chi_1^(t-1)) - chi*_1|| = ||chi_1^t - chi*_1 - (eta/m) sum
            g_i^t - (beta eta/m) sum u_i^t||. False for the same reason as (32). The next step of the paper, to
            ||T_1|| + ||T_2|| + ||T_3||, is the triangle inequality.
        (37)
            T_3 = (beta eta/m) sum u_i = (eta beta/m) sum_(C_1 n C*_1) u_i + (beta eta/m) sum_(C_1 - C*_1) u_i, which
            defines T_31 and T_32, as (A18) does. Their bound is (A34) of ``cfl-mgd/appendix-a27``.
        after (37)
            T_3 = beta (chi_1^(t-1) - chi_1^t), where C_1 belongs to the round in which the clients send the u_i.

    Source
        Zhao et al. (2023), (32), (33) and (37). Our reading allows arbitrary initial models. The paper has "Suppose
        Assumptions 1-5 hold", so that models start near the optima. There, a client contributes the momentum of
        another cluster if noise makes it choose a wrong model, see ``cfl-mgd/appendix-a18``, (A19).
    """
    centers = [center] * own + [other_center]
    printed, server = (
        exact_run(centers, [first, second], momentum=momentum, rounds=ROUNDS, reading=reading)
        for reading in ("line 15", "server")
    )
    suppose("no client has two best models", not printed.ties)
    by_clients, by_server = second_models(printed, server)
    words = (
        f"{own} clients at {center} and one at {other_center}, models from {first} and {second}, "
        f"eta = 1, beta = {momentum}: a client that changes its cluster carries foreign momentum, "
        f"chi_1^(2) = {by_clients} with the clients' momentum and {by_server} with the server's"
    )
    third = [
        momentum * sum(u for u, p in zip(momenta, chosen, strict=True) if p == 0) / len(centers)
        for momenta, chosen in zip(printed.momenta, printed.assignments, strict=True)
    ]
    moves = [
        momentum * (before[0] - after[0])
        for before, after in zip(printed.models, printed.models[1:], strict=False)
    ]
    return {
        "(32)": equal((by_clients, by_server), words=words),
        "(33)": equal((abs(by_server - center), abs(by_clients - center)), words=words),
        "after (37)": equal((third, moves)),
    }


momentum_of_the_average.line("(37)")(parts_of_the_momentum)


@claim(
    "cfl-mgd/equation-32-fixed-clusters",
    label="(32), fixed clusters",
    source="ours",
    evaluations=150,
    expected="consistent, no sharpness",
    headline=True,
    places="(33)",
)
def equation_32_fixed_clusters(
    clients: Annotated[int, Z[2:6]],
    centers: Annotated[tuple[Fraction, ...], sequences(Q[-2:2:4], lambda clients: clients)],
    first: Fraction = PLACE,
    second: Fraction = PLACE,
    momentum: Fraction = Q[0 : Fraction(9, 10) : 10],
) -> Sides:
    """As long as no client changes its cluster, clients' momentum and server's momentum lead to the same models.

    Hypotheses
        Option I has full participation, and C_p^(t+1) = C_p^t for all p. Each u_i is the mean momentum of the cluster
        (line 15), or the client's own momentum (A19).

    Statement
        Equation (32) holds.

    Source
        Ours, based on Zhao et al. (2023), (32).
    """
    rounds = 6
    paths = [
        exact_run(centers, [first, second], momentum=momentum, rounds=rounds, reading=reading)
        for reading in READINGS
    ]
    chosen = paths[0].assignments
    fixed = [t for t in range(rounds) if all(chosen[s] == chosen[0] for s in range(t + 1))]
    # the round in which a client changes its cluster is the first round whose models may differ
    line_15, own, server = (path.models[: len(fixed) + 1] for path in paths)
    return equal((line_15, own), (line_15, server))
