"""What a round costs, against a task that counts what it is asked."""

import dataclasses

import numpy as np
import pytest
from counting_task import Counting

from clusterproof.algorithms import (
    CFL,
    CFLMGD,
    FPFC,
    IFCA,
    FedAvg,
    FedBCD,
    FedProx,
    GradientLoss,
    InvalidArgument,
    Local,
    PerFedAvg,
    Randomness,
    SoFL,
)
from clusterproof.algorithms.costs import cost_of_a_round


class Nobody:
    """What is no algorithm of the package."""

    name = "nobody"


ALGORITHMS = [
    Local(step_size=0.1, local_steps=4),
    FedAvg(step_size=0.1, local_steps=3),
    FedProx(step_size=0.1, local_steps=3, proximal=1.0),
    FedBCD(step_size=0.1, local_steps=2),
    PerFedAvg(step_size=0.1, local_steps=2),
    PerFedAvg(step_size=0.1, local_steps=2, gradient="second-order"),
    IFCA(step_size=0.1),
    IFCA(step_size=0.1, averaging="model", local_steps=4),
    CFLMGD(step_size=0.1, momentum=0.5),
    CFLMGD(step_size=0.1, momentum=0.5, momentum_owner="client"),
    CFLMGD(step_size=0.1, momentum=0.5, averaging="model", local_steps=3),
    GradientLoss(step_size=0.1),
    CFL(step_size=0.1, local_steps=2),
    SoFL(step_size=0.1, local_steps=2),
    SoFL(step_size=0.1, local_steps=2, method="per-fedavg"),
    FPFC(step_size=0.1, local_steps=4),
]


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.name)
def test_passes_are_as_many_as_a_round_asks_the_task_for(algorithm, share):
    algorithm, task = dataclasses.replace(algorithm, participation=share), Counting()
    start = np.random.default_rng(0).standard_normal((algorithm.model_count(task), 3))
    state = algorithm.initialise(start, task)
    algorithm.step(state, task, Randomness.from_seed(0))
    cost = cost_of_a_round(algorithm, task)
    assert len(task.forward) == cost.participants * cost.forward
    assert len(task.backward) == cost.participants * cost.backward
    assert len(task.bent) == cost.participants * cost.curvature


@pytest.mark.parametrize(
    "algorithm",
    [one for one in ALGORITHMS if isinstance(one, CFLMGD | IFCA)],
    ids=lambda one: one.name,
)
def test_in_mini_batches_no_forward_pass_serves_twice(algorithm):
    """What is asked for a gradient is then of another batch than what is asked for losses."""
    task = Counting(batches=True)
    start = np.random.default_rng(0).standard_normal((algorithm.model_count(task), 3))
    algorithm.step(algorithm.initialise(start, task), task, Randomness.from_seed(0))
    cost = cost_of_a_round(algorithm, task, local_unit="epoch")
    assert len(task.forward) == cost.participants * cost.forward
    assert len(task.backward) == cost.participants * cost.backward
    with pytest.raises(InvalidArgument, match="local_unit"):
        cost_of_a_round(algorithm, task, local_unit="batch")


def test_a_pair_with_a_participant_is_worked_at():
    task = Counting()
    for share in (0.25, 1.0):
        cost = cost_of_a_round(FPFC(step_size=0.1, participation=share), task)
        active = np.arange(8) < cost.participants
        pairs = np.triu(active[:, None] | active[None, :], 1).sum()
        assert cost.server == 3 * pairs + 8


def test_numbers_sent_are_the_models_that_change_hands():
    task = Counting()
    averaging = CFLMGD(step_size=0.1, momentum=0.5, averaging="model")
    state = averaging.initialise(np.zeros((3, 3)), task)
    expected = {
        IFCA(step_size=0.1): (9, 3),
        averaging: (state.models.size + state.buffers.size, 6),
        FPFC(step_size=0.1): (3, 3),
        Local(step_size=0.1): (0, 0),
        GradientLoss(step_size=0.1): (18, 3),
    }
    for algorithm, (down, up) in expected.items():
        cost = cost_of_a_round(algorithm, task)
        assert (cost.down, cost.up) == (down, up)
        assert cost.sent(4) == 8 * (down + up) * 4


def test_gradient_and_loss_cost_twelve_units_where_the_loss_costs_six():
    task = Counting()
    four = {"step_size": 0.1, "clusters": 4}
    assert cost_of_a_round(GradientLoss(**four), task).units == 12
    assert cost_of_a_round(IFCA(**four, averaging="model"), task).units == 6


def test_an_algorithm_of_ones_own_has_no_known_cost():
    task = Counting()
    with pytest.raises(InvalidArgument, match="cost is known"):
        cost_of_a_round(Nobody(), task)
