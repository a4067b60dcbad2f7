"""Wrong versions of the algorithms, each of which the checks of this folder must detect."""

from dataclasses import replace

import numpy as np
import pytest
from array_api_compat import array_namespace
from plain_loops import discrepancy
from resampling import resampling_score

from clusterproof.algorithms import CFLMGD, aggregation, arrays, protocol
from clusterproof.algorithms.aggregation import average_by_cluster
from clusterproof.algorithms.arrays import one_hot, replace_rows, rows
from clusterproof.synthetic import QuadraticMixture, RegressionMixture, direct_simulation

TOLERANCE = 1e-12
VISIBLE = 1e-3

TASK = QuadraticMixture.random(
    clusters=3, clients=9, dimension=3, condition_number=4, spread=0.8, separation=1.0, seed=0
)
SMALL = QuadraticMixture.random(clusters=3, clients=3, dimension=2, seed=0)
MIRRORED = QuadraticMixture(hessians=np.ones((2, 1, 1)), centers=[[0.0], [5.0]], labels=[0, 1])
FAR = np.array([[0.2, 0.1, 0.0], [-0.3, 0.4, 0.1], [50.0, 50.0, 50.0]])

SCENARIOS = {
    "gradient": (TASK, {}, {}),
    "as many models as clients": (SMALL, {}, {"initial": np.array([[0.1, 0], [0, 0.2], [-0.3, 0]])}),
    "partial participation": (TASK, {"participation": 0.5}, {}),
    "client momentum": (TASK, {"momentum_owner": "client", "participation": 0.5}, {}),
    "model": (TASK, {"averaging": "model", "local_steps": 3}, {}),
    "deserted model": (TASK, {"averaging": "model", "local_steps": 3}, {"initial": FAR}),
    "tie": (MIRRORED, {}, {"initial": np.array([[1.0], [-1.0]])}),
}


def largest_discrepancy(kind):
    """The worst of the comparison with plain loops over all scenarios."""
    return max(
        discrepancy(kind(step_size=0.7, momentum=0.8, **options), task, rounds=8, replicates=3, **start)
        for task, options, start in SCENARIOS.values()
    )


def test_the_true_algorithm_passes_in_every_scenario():
    assert largest_discrepancy(CFLMGD) <= TOLERANCE


class MomentumTwice(CFLMGD):
    """Option I multiplies the server's buffers by the momentum twice."""

    def step(self, state, task, randomness):
        if (self.averaging, self.momentum_owner) == ("gradient", "server"):
            state = replace(state, buffers=self.momentum * state.buffers)
        return super().step(state, task, randomness)


class MomentumBackwards(CFLMGD):
    """Option I subtracts the momentum that it should add."""

    def step(self, state, task, randomness):
        if (self.averaging, self.momentum_owner) == ("gradient", "server"):
            state = replace(state, buffers=-state.buffers)
        return super().step(state, task, randomness)


class DividesTwice(CFLMGD):
    """(5) with m^2 for m."""

    def divisor(self, models, assignments, task):
        return super().divisor(models, assignments, task) ** 2


class DividesByParticipants(CFLMGD):
    """(5) with the number of participants for m."""

    def divisor(self, models, assignments, task):
        return float(assignments.shape[-1])


class ChoosesAfterTheRound(CFLMGD):
    def step(self, state, task, randomness):
        moved = super().step(state, task, randomness)
        losses = task.losses(moved.models, moved.clients, randomness.assignment)
        return replace(moved, assignments=np.argmin(losses, axis=-1))


class ForgetsToSendTheMean(CFLMGD):
    """Line 15 without its second half: clients keep their own u_i."""

    def step(self, state, task, randomness):
        moved = super().step(state, task, randomness)
        if self.momentum_owner == "server":
            return moved
        arriving = task.gradients(rows(state.models, moved.assignments), moved.clients, randomness.gradient)
        own = self.momentum * rows(state.buffers, moved.clients) + arriving
        return replace(moved, buffers=replace_rows(state.buffers, moved.clients, own))


class MovesBeforeTheMomentum(CFLMGD):
    """Option II in the order of line 20 where (4) is asked for."""

    def step(self, state, task, randomness):
        if self.averaging == "model" and self.update_order == "momentum-first":
            return replace(self, update_order="as-printed").step(state, task, randomness)
        return super().step(state, task, randomness)


@pytest.mark.parametrize(
    "kind",
    [
        MomentumTwice,
        MomentumBackwards,
        DividesTwice,
        DividesByParticipants,
        ChoosesAfterTheRound,
        ForgetsToSendTheMean,
        MovesBeforeTheMomentum,
    ],
)
def test_a_wrong_algorithm_is_detected(kind):
    assert largest_discrepancy(kind) > VISIBLE


def average_over_all_clients(values, assignments, fallback, weights=None):
    membership = one_hot(assignments, fallback.shape[-2], dtype=values.dtype)
    return np.swapaxes(membership, -1, -2) @ values / values.shape[-2]


def average_with_zero_for_the_empty(values, assignments, fallback, weights=None):
    return average_by_cluster(values, assignments, 0 * fallback, weights)


def shifted_members(task, models, clients, assignments, generator):
    gradients = task.gradients(rows(models, assignments), clients, generator)
    membership = np.roll(one_hot(assignments, models.shape[-2], dtype=models.dtype), 1, axis=-2)
    return np.swapaxes(membership, -1, -2) @ gradients


def untransposed(values, membership):
    square = membership.shape[-1] == membership.shape[-2]
    xp = array_namespace(values)
    return xp.matmul(membership if square else xp.matrix_transpose(membership), values)


def last_of_the_smallest(losses):
    return losses.shape[-1] - 1 - np.argmin(losses[..., ::-1], axis=-1)


def replaced_without_the_absent(values, indices, updates):
    return np.broadcast_to(np.mean(updates, axis=-2, keepdims=True), values.shape)


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (aggregation, "average_by_cluster", average_over_all_clients),
        (aggregation, "average_by_cluster", average_with_zero_for_the_empty),
        (protocol, "sum_gradients", shifted_members),
        (arrays, "sums_by_cluster", untransposed),
        (arrays, "argmin_smallest_index", last_of_the_smallest),
        (arrays, "replace_rows", replaced_without_the_absent),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_building_block_is_detected(module, name, wrong, plant):
    plant(module, name, wrong)
    assert largest_discrepancy(CFLMGD) > VISIBLE


class OneBatch(RegressionMixture):
    """The batch that a client chose its cluster on also gives its gradient."""

    def losses(self, models, clients, generator):
        lead = np.broadcast_shapes(models.shape[:-2], clients.shape[:-1])
        labels = np.broadcast_to(self.labels[clients], (*lead, clients.shape[-1]))
        drawn = direct_simulation.draw_data(labels, self.covariances, self.noise, self.samples, generator)
        object.__setattr__(self, "drawn", drawn)
        return direct_simulation.losses(models, self.optima[labels], *drawn)

    def gradients(self, points, clients, generator):
        return direct_simulation.gradients(points, self.optima[self.labels[clients]], *self.drawn)


@pytest.mark.parametrize(
    ("kind", "sampling", "detected"),
    [(RegressionMixture, "exact", False), (RegressionMixture, "direct", False), (OneBatch, "direct", True)],
)
def test_one_batch_for_choice_and_gradient_is_detected(kind, sampling, detected):
    task = kind(
        optima=[[0.0], [1.0]], covariance=[1.0], noise=0.5, labels=[0, 1, 1], samples=4, sampling=sampling
    )
    assert (resampling_score(task, np.array([[-0.1], [0.9]])) > 5) == detected
