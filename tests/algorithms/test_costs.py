"""What a round costs by its definition, and by a task that counts what it is asked."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import (
    CFL,
    CFLMGD,
    FPFC,
    IFCA,
    Algorithm,
    FedAvg,
    FedBCD,
    FedLin,
    FedProx,
    GradientLoss,
    Local,
    PerFedAvg,
    ProxSkip,
    Scaffold,
    SoFL,
    Task,
)
from clusterproof.algorithms.costs import Cost, cost_of_a_round
from clusterproof.common import InvalidArgument, Randomness
from clusterproof.synthetic import QuadraticMixture


class Counting(Task):
    """A quadratic mixture that writes down at which points each client was asked for what.

    Parameters
    ----------
    clusters
        P.
    """

    def __init__(self, *, clusters=3):
        self.task = QuadraticMixture.random(
            clusters=clusters, clients=8, dimension=3, condition_number=3, spread=0.2, seed=1
        )
        self.clusters, self.dimension, self.labels = clusters, 3, self.task.labels
        self.forward, self.backward, self.bent = set(), set(), []

    @property
    def settings(self):
        return self.task.settings

    def initial_models(self, count, shape, generator):
        return self.task.initial_models(count, shape, generator)

    def note(self, kinds, points, clients):
        for client, point in zip(clients, points, strict=True):
            for kind in kinds:
                kind.add((int(client), np.asarray(point).tobytes()))

    def each(self, kinds, models, clients):
        for model in models:
            self.note(kinds, np.broadcast_to(model, (len(clients), 3)), clients)

    def losses(self, models, clients, generator):
        self.each([self.forward], models, clients)
        return self.task.losses(models, clients, generator)

    def gradients(self, points, clients, generator):
        self.note([self.forward, self.backward], points, clients)
        return self.task.gradients(points, clients, generator)

    def gradient_sums(self, models, clients, assignments, generator):
        self.note([self.forward, self.backward], models[assignments], clients)
        return self.task.gradient_sums(models, clients, assignments, generator)

    def losses_and_gradients(self, models, clients, generator):
        self.each([self.forward, self.backward], models, clients)
        return self.task.losses_and_gradients(models, clients, generator)

    def hessian_products(self, points, directions, clients, generator):
        self.bent += list(clients)
        return self.task.hessian_products(points, directions, clients, generator)


HALF: dict[str, Any] = {"step_size": 0.1, "participation": 0.5}
"""Of eight clients; there are three clusters, and a model is three numbers."""

COSTS: list[tuple[Algorithm[Any], Cost]] = [
    # participants; forward, backward, curvature; down, up; server
    (FedAvg(**HALF, local_steps=2), Cost(4, 2, 2, 0, 3, 3, 4)),
    (FedProx(**HALF, local_steps=2), Cost(4, 2, 2, 0, 3, 3, 4)),
    (CFL(**HALF, local_steps=2), Cost(4, 2, 2, 0, 3, 3, 4)),
    (SoFL(**HALF, local_steps=2), Cost(4, 2, 2, 0, 3, 3, 4)),
    # a meta-gradient is of the model and of where its step leads
    (SoFL(**HALF, local_steps=2, method="per-fedavg"), Cost(4, 4, 4, 0, 3, 3, 4)),
    (PerFedAvg(**HALF, local_steps=2), Cost(4, 4, 4, 0, 3, 3, 4)),
    (PerFedAvg(**HALF, local_steps=2, gradient="second-order"), Cost(4, 4, 4, 2, 3, 3, 4)),
    # the mean of the last models of all devices
    (FedBCD(**HALF, local_steps=2), Cost(4, 2, 2, 0, 3, 3, 8)),
    (Local(**HALF, local_steps=2), Cost(4, 2, 2, 0, 0, 0, 0)),
    # three models down, one up; the chosen one's loss serves for the first gradient
    (IFCA(**HALF), Cost(4, 3, 1, 0, 9, 3, 4)),
    (IFCA(**HALF, averaging="model", local_steps=2), Cost(4, 4, 2, 0, 9, 3, 4)),
    (CFLMGD(**HALF, momentum=0.5), Cost(4, 3, 1, 0, 9, 3, 4)),
    # a client that keeps its momentum receives its cluster's mean of it
    (CFLMGD(**HALF, momentum=0.5, momentum_owner="client"), Cost(4, 3, 1, 0, 12, 3, 4)),
    # three models and their buffers down, one of each up
    (CFLMGD(**HALF, momentum=0.5, averaging="model", local_steps=2), Cost(4, 4, 2, 0, 18, 6, 4)),
    # three models and their last moves down
    (GradientLoss(**HALF), Cost(4, 3, 3, 0, 18, 3, 4)),
    # of 28 pairs 22 have a participant, 6 two; three vectors a pair, and the sum of eight models
    (FPFC(**HALF, local_steps=2), Cost(4, 2, 2, 0, 3, 3, 3 * 22 + 8)),
    (FPFC(**HALF, local_steps=2, pair_rule="both"), Cost(4, 2, 2, 0, 3, 3, 3 * 6 + 8)),
    (FPFC(**HALF, local_steps=2, pair_rule="all"), Cost(4, 2, 2, 0, 3, 3, 3 * 28 + 8)),
    # a model and a control variate, or a common gradient, both ways
    (Scaffold(**HALF, local_steps=2), Cost(4, 2, 2, 0, 6, 6, 8)),
    (Scaffold(**HALF, local_steps=2, option="I"), Cost(4, 2, 2, 0, 6, 6, 8)),
    (FedLin(**HALF, local_steps=2), Cost(4, 2, 2, 0, 6, 6, 8)),
    # all clients, in a round in which they communicate
    (ProxSkip(step_size=0.1), Cost(8, 1, 1, 0, 3, 3, 8)),
]


@pytest.mark.parametrize(("algorithm", "cost"), COSTS, ids=lambda one: getattr(one, "name", ""))
def test_a_round_costs_what_its_definition_says(algorithm: Algorithm[Any], cost: Cost) -> None:
    task: Any = Counting()
    assert cost_of_a_round(algorithm, task) == cost


@pytest.mark.parametrize(("share", "participants"), [(0.01, 1), (0.3, 2), (0.35, 3), (1.0, 8)])
def test_participants_are_a_share_and_at_least_one(share: float, participants: int) -> None:
    task: Any = Counting()
    assert cost_of_a_round(FedAvg(step_size=0.1, participation=share), task).participants == participants


def test_work_and_bytes_are_those_of_all_participants() -> None:
    """Five forward and two backward passes, worth two each; seven numbers of eight bytes."""
    cost = Cost(3, 5, 2, 1, 4, 3, 9)
    assert cost.units == 9
    assert cost.sent() == 168


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("algorithm", [algorithm for algorithm, _ in COSTS], ids=lambda one: one.name)
def test_passes_are_as_many_as_a_round_asks_the_task_for(algorithm: Algorithm[Any], share: float) -> None:
    asked: Any = algorithm
    if not isinstance(algorithm, ProxSkip):
        asked = replace(algorithm, participation=share)  # type: ignore[call-arg]
    task: Any = Counting()
    start = np.random.default_rng(0).standard_normal((asked.model_count(task), 3))
    state = asked.initialise(start, task)
    asked.step(state, task, Randomness.from_seed(0))
    cost = cost_of_a_round(asked, task)
    assert len(task.forward) == cost.participants * cost.forward
    assert len(task.backward) == cost.participants * cost.backward
    assert len(task.bent) == cost.participants * cost.curvature


def test_unknown_costs_are_refused() -> None:
    class Nobody:
        name = "nobody"

    task: Any = Counting()
    with pytest.raises(InvalidArgument, match="known cost"):
        cost_of_a_round(Nobody(), task)  # type: ignore[arg-type]
