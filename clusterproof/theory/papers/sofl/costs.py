"""Claims on Sections 3 and 4.1: the round in which SoFL clusters, and its cost compared with FedAvg and IFCA."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from clusterproof.algorithms import IFCA, FedAvg, SoFL
from clusterproof.algorithms.costs import cost_of_a_round
from clusterproof.checker.claims import Q, Sides, at_most, claim, equal, integers, suppose
from clusterproof.synthetic import QuadraticMixture

CLUSTERS: Any = integers(2, 8, upwards=True)
STEPS: Any = integers(1, 5, upwards=True)


def task(clusters: int) -> QuadraticMixture:
    """Return a task with five clients in each cluster, as in the paper."""
    return QuadraticMixture.random(clusters=clusters, clients=5 * clusters, dimension=3, seed=0)


@claim(
    "sofl/no-extra-communication",
    label="Section 3, no additional communication",
    evaluations=40,
    expected="consistent, no sharpness",
    headline=True,
    places="algorithm 1, line 7; algorithm 1, line 26",
)
def no_extra_communication(clusters: int = CLUSTERS, local_steps: int = STEPS) -> Sides:
    """In every round, clients of SoFL send, receive and compute no more than clients of FedAvg.

    Hypotheses
        All clients take part, as in the paper's experiments. With partial participation, the clustering round would
        still need all clients, which are 1 / participation times as many as in other rounds.

    Statement
        SoFL and FedAvg send equally many numbers to and from clients, and their clients compute equally many passes.
        In SoFL, the server also computes the map and the second clustering.

    Source
        Zhang and Qiao (2024), Sections 3 and 4: the clusters are computed from the updates that clients send anyway.
    """
    sofl, fedavg = (
        cost_of_a_round(kind(step_size=0.1, local_steps=local_steps), task(clusters))
        for kind in (SoFL, FedAvg)
    )
    return equal((sofl.sent(), fedavg.sent()), (sofl.units, fedavg.units))


@claim(
    "sofl/ifca-consumption",
    label="Section 2, IFCA's consumption",
    evaluations=40,
    expected="consistent, no sharpness",
)
def ifca_consumption(clusters: int = CLUSTERS, local_steps: int = STEPS) -> Sides:
    """Clients of IFCA receive and evaluate several times as much as clients of SoFL.

    Hypotheses
        There are K models, E local steps and model averaging. A backward pass costs two forward passes.

    Statement
        A client of IFCA receives K models and sends one back, so it exchanges (K + 1) / 2 times as many numbers as a
        client of SoFL. It computes K - 1 more forward passes. Its total computation is (3 E + K - 1) / (3 E) times as
        large: twice for K = 4 and E = 1, and 1.02 times for K = 4 and E = 50. In our reading, "several times" means K
        times the models sent to a client. We do not check it for the computation.

    Source
        Zhang and Qiao (2024), on IFCA. "Several times" is true for the number of models that the server sends to a
        client. It is false for the total computation if clients take many local steps.
    """
    ours = cost_of_a_round(SoFL(step_size=0.1, local_steps=local_steps), task(clusters))
    theirs = cost_of_a_round(IFCA(step_size=0.1, averaging="model", local_steps=local_steps), task(clusters))
    return equal(
        (theirs.down, clusters * ours.down),
        (2 * theirs.sent(), (clusters + 1) * ours.sent()),
        (theirs.units, ours.units + clusters - 1),
    )


@claim(
    "sofl/clustering-condition",
    label="Section 4.1, conditions (a), (b)",
    expected="vacuous",
    headline=(
        "Condition (b) of Section 4.1 decides nothing. 10 delta_1 is the largest update, so (b) "
        "holds for every delta_2 below 10 delta_1."
    ),
    rank=3,
    places="section 4.1, (a) and (b); algorithm 1, line 11",
)
def clustering_condition(
    largest: Fraction = Q[Fraction(1, 10) :: 2], factor: Fraction = Q[1 : Fraction(99, 10) : 10]
) -> Sides:
    """The server clusters the clients if (a) the global update is small and (b) the clients' updates are still large.

    Hypotheses
        The thresholds are as recommended: delta_1 = max ||Delta w_i|| / 10 and delta_2 in [delta_1, 10 delta_1]. For
        delta_2 = 10 delta_1, (b) would be false. The check has a largest update of at least 1/10, and delta_2 <=
        99/10 delta_1.

    Statement
        (a) 0 < ||sum_i Delta w_i|| < delta_1 and (b) max_i ||Delta w_i|| > delta_2 > 0.

    Source
        Zhang and Qiao (2024), Section 4.1. In our reading, the server clusters the clients if (a) is true with the
        mean instead of the sum, as in Sattler et al. If the thresholds were fixed before training, (b) could be true
        or false, but the paper states no values for them. As an alternative, the paper clusters in a fixed round
        (``trigger="round"``).

    Proof
        10 delta_1 = max ||Delta w_i||, so (b) is true for every delta_2 < 10 delta_1, and false for delta_2 = 10
        delta_1.
    """
    delta_2 = factor * largest / 10
    suppose("(b) is false, max ||Delta w_i|| <= delta_2", largest <= delta_2)
    return at_most(largest, delta_2=delta_2)
