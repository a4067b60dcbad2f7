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
    """In a round, SoFL sends and computes no more than FedAvg.

    Hypotheses
        All clients take part, as in the paper's experiments. With fewer participants, the clustering round still needs
        all clients, which are 1 / participation times as many.

    Statement
        The numbers sent to and from clients, and the clients' passes, are the same as in FedAvg. The server computes
        the map and the second clustering.

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
        An IFCA client receives K models and sends one back, (K + 1) / 2 times SoFL's numbers. It makes K - 1 more
        forward passes, (3 E + K - 1) / (3 E) times SoFL's work: twice for K = 4 and E = 1, 1.02 times for E = 50. In
        our reading, "several times" means K times the models sent to a client. We do not check it for the work.

    Source
        Zhang and Qiao (2024), on IFCA: "several times" is true for the models sent to clients, which are K times as
        many. It is false for the work if clients make many local steps.
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
    """Clients are clustered if (a) the global update is small and (b) the clients' updates still fluctuate.

    Hypotheses
        The recommended delta_1 = max ||Delta w_i|| / 10 and delta_2 in [delta_1, 10 delta_1]. delta_1 is exactly a
        tenth of the largest update, and delta_2 < 10 delta_1: at delta_2 = 10 delta_1 (b) is false. The check has a
        largest update of at least 1/10 and delta_2 <= 99/10 delta_1.

    Statement
        (a) 0 < ||sum_i Delta w_i|| < delta_1 and (b) max_i ||Delta w_i|| > delta_2 > 0.

    Source
        Zhang and Qiao (2024), Section 4.1. In our reading, clients are clustered if (a) is true with the mean instead
        of the sum, as in Sattler et al. With thresholds that are fixed before training, (b) would be a real condition,
        but the paper gives no value. The paper's alternative, a fixed round, is ``trigger="round"``.

    Proof
        10 delta_1 = max ||Delta w_i||, so (b) is true for every delta_2 < 10 delta_1 and false at the end.
    """
    delta_2 = factor * largest / 10
    suppose("(b) is false, max ||Delta w_i|| <= delta_2", largest <= delta_2)
    return at_most(largest, delta_2=delta_2)
