"""(A11)-(A14): the noise of the false members' gradients, and the bound on T_2."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Annotated

import numpy as np

from clusterproof.theory.claims import (
    Excluded,
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    given,
    integers,
    rationals,
)
from clusterproof.theory.papers.cfl_mgd.appendix.rounds import Level, Round, simulate_round
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import ExtremeTask, Place, suppose_units, two_values


@claim("cfl-mgd/a11", label="(A11)", tight=True)
def a11(
    clients: Annotated[int, integers(1, 3)],
    samples: Annotated[int, integers(1, 3)],
    rarity: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 3), Fraction(1, 10))],
    jump: Annotated[Fraction, rationals(Fraction(1, 4), 2, 4, upwards=True)],
) -> Sides:
    """The false members' summed noise has second moment at most |C_1 n C*_p| v^2 / n'.

    Hypotheses
        Assumption 3; batches independent of each other and of the choice of clusters.

    Statement
        Given the clusters, E ||sum over C_1 n C*_p of (g_i - grad phi_p(chi_1))||^2 <=
        |C_1 n C*_p| v^2 / n'.

    Source
        Zhao et al. (2023), (A11). Tight: an equality where v^2 is the variance at chi_1.
    """
    rare, common = jump, -jump * rarity / (1 - rarity)
    variance = rarity * rare**2 + (1 - rarity) * common**2
    drawn = clients * samples
    moment = sum(
        (
            comb(drawn, k) * rarity**k * (1 - rarity) ** (drawn - k) * (k * rare + (drawn - k) * common) ** 2
            for k in range(drawn + 1)
        ),
        Fraction(0),
    )
    return at_most(moment / samples**2, variance=clients * variance / samples)


# one false member, whose noise has the norm v always; many, far from chi_1
ALONE = {"task": two_values(1, 1, 4.0), "level": Fraction(9, 10), "place": "apart"}
CROWD = {"task": two_values(1, 99, 1.6), "level": Fraction(9, 10), "place": "apart"}
HALF = CROWD | {"level": Fraction(2, 5)}
RARELY = ALONE | {"level": Fraction(1, 10)}


def false_member_norms(one: Round) -> tuple[np.ndarray, np.ndarray, float]:
    """||T_2|| and the number of false members in each replicate, and v: the largest over the clusters."""
    others = range(1, one.task.clusters)
    total = np.sum([one.total(p) for p in others], axis=0)
    norms = np.linalg.norm(total, axis=-1) / (one.task.clients * one.task.smoothness)
    counts = np.sum([one.shared(p) for p in others], axis=0)
    return norms, counts, max(one.gradient_deviation(p) for p in others)


@claim(
    "cfl-mgd/appendix-a12",
    label="(A12)-(A14)",
    replicates=600,
    evaluations=15,
    example=(ALONE, CROWD, HALF, RARELY),
)
def false_members(
    task: ExtremeTask, level: Level, place: Place, stream: Stream, replicates: Replicates
) -> dict[str, Sides | Excluded]:
    """The false members move model 1 by at most 3 L eta times their share, plus noise.

    Hypotheses
        As (A10) and (A11); given the clusters; lambda_1 = ``level``.

    Statement
        With the probability of each line, by Markov's inequality, where some client of cluster 2 joins C_1; p = 2.

    Lines
        (A12)
            With probability at least 1 - lambda_1, ||sum over C_1 n C*_p of (g_i - grad phi_p(chi_1))|| <=
            sqrt(|C_1 n C*_p|) v / (lambda_1 sqrt(n')).
        (A13)
            With probability at least 1 - lambda_1, ||T_2p|| <= 3 L |C_1 n C*_p| + sqrt(|C_1 n C*_p|) v / (lambda_1
            sqrt(n')), from (A10) and (A12).
        (A14)
            With probability at least 1 - P lambda_1, ||T_2|| <= (3 L eta / m) |C_1 - C*_1| + (eta v sqrt(P) /
            (lambda_1 m sqrt(n'))) sqrt(|C_1 - C*_1|), v the largest over the clusters, by a union over p and
            Cauchy-Schwarz.

    Source
        Zhao et al. (2023), (A12)-(A14).
    """
    suppose_units(task)
    one, rate = simulate_round(task, place, replicates, stream, with_clients_of=1), float(level)
    noise = one.gradient_deviation(1) * np.sqrt(one.shared(1) / task.samples) / rate
    total, counts, deviation = false_member_norms(one)
    cross = (
        deviation * np.sqrt(task.clusters * counts / task.samples) / (task.smoothness * rate * task.clients)
    )
    failure = task.clusters * rate
    return {
        "(A12)": at_most(np.linalg.norm(one.deviation(1), axis=-1), noise=noise, failure=rate),
        "(A13)": at_most(
            np.linalg.norm(one.total(1), axis=-1),
            count=3 * task.smoothness * one.shared(1),
            noise=noise,
            failure=rate,
        ),
        "(A14)": given(
            "P lambda_1 < 1",
            failure < 1,
            lambda: at_most(total, count=3 * counts / task.clients, noise=cross, failure=failure),
        ),
    }
