"""Communication and computation of SoFL compared with FedAvg and IFCA, by the cost account."""

from __future__ import annotations

from typing import Annotated

from clusterproof.algorithms import IFCA, FedAvg, SoFL
from clusterproof.algorithms.costs import cost_of_a_round
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, claim, equal, integers

Clusters = Annotated[int, integers(2, 8, upwards=True)]
Steps = Annotated[int, integers(1, 5, upwards=True)]


def task(clusters: int) -> QuadraticMixture:
    """Return a task with five clients in each cluster, as in the paper."""
    return QuadraticMixture.random(clusters=clusters, clients=5 * clusters, dimension=3, seed=0)


@claim("sofl/no-extra-communication", label="Section 3, no additional communication")
def no_extra_communication(clusters: Clusters, local_steps: Steps) -> Sides:
    """SoFL sends and computes no more in a round than FedAvg.

    Hypotheses
        All clients take part, as in the paper's experiments. With fewer participants the clustering round involves all
        clients, 1 / participation times as many.

    Statement
        Numbers down and up, and the clients' passes, are FedAvg's; the map and the second clustering are the server's.

    Source
        Zhang and Qiao (2024), Sections 3 and 4: the clusters are computed from the updates that are sent anyway.
    """
    sofl, fedavg = (
        cost_of_a_round(kind(step_size=0.1, local_steps=local_steps), task(clusters))
        for kind in (SoFL, FedAvg)
    )
    return equal((sofl.sent(), fedavg.sent()), (sofl.units, fedavg.units))


@claim("sofl/ifca-consumption", label="Section 2, IFCA's consumption")
def ifca_consumption(clusters: Clusters, local_steps: Steps) -> Sides:
    """IFCA's clients receive and evaluate several times as much.

    Hypotheses
        K models, E local steps, model averaging; a backward pass is worth two forward ones.

    Statement
        IFCA sends K models to a client and one back, (K + 1) / 2 times SoFL's numbers; its clients make K - 1 forward
        passes more, (3 E + K - 1) / (3 E) times SoFL's work: twice for K = 4 and E = 1, 1.02 times for E = 50.

    Source
        Zhang and Qiao (2024), on IFCA: "several times" holds for the models sent to clients, K times, and not for
        the work as soon as there are some local steps.
    """
    ours = cost_of_a_round(SoFL(step_size=0.1, local_steps=local_steps), task(clusters))
    theirs = cost_of_a_round(IFCA(step_size=0.1, averaging="model", local_steps=local_steps), task(clusters))
    return equal(
        (theirs.down, clusters * ours.down),
        (2 * theirs.sent(), (clusters + 1) * ours.sent()),
        (theirs.units, ours.units + clusters - 1),
    )
