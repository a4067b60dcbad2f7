"""Starts that are drawn again, and which model a client chooses."""

import copy
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterproof.algorithms import CFLMGD, IFCA, Local
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.common import Randomness
from clusterproof.common.arrays import argmin_smallest_index
from clusterproof.running import Diverged, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture


class Anywhere(RegressionMixture):
    """Models start anywhere, not each near its cluster's."""

    def initial_models(self, count, shape, generator):
        return 2 * generator.standard_normal((*shape, count, self.dimension))


DRAWN = RegressionMixture.random(
    clusters=3, clients=12, dimension=2, samples=20, separation=2.0, noise=0.1, seed=1
)
TASK = Anywhere(
    optima=DRAWN.optima, covariance=DRAWN.covariance, noise=DRAWN.noise, labels=DRAWN.labels, samples=20
)


@pytest.mark.parametrize(("participation", "least"), [(0.25, 1), (1.0, 4)])
def test_every_model_is_chosen_by_its_share_of_the_participants(participation, least):
    """Of 3 of 12 clients each must have a model of its own, and of 12 each model four."""
    algorithm = IFCA(step_size=0.1, participation=participation, least_share=0.3)
    for seed in range(8):
        stream = Randomness.from_seed(seed, "regression", "ifca").initialisation
        while True:
            models = TASK.initial_models(3, (), stream)
            clients = draw_participants(participation, 12, models, stream)
            chosen = TASK.losses(models, clients, stream).argmin(axis=-1)
            if min(np.bincount(chosen, minlength=3)) >= least:
                break
        assert np.array_equal(run(algorithm, TASK, rounds=0, seed=seed).models[0], models)


def test_replicates_are_redrawn_separately():
    plain, redrawn = (
        run(IFCA(step_size=0.1, least_share=share), TASK, rounds=0, replicates=20).models[0]
        for share in (None, 0.3)
    )
    same = (plain == redrawn).all(axis=(1, 2))
    assert same.any()
    assert not same.all()


def test_the_participants_of_the_rounds_do_not_hang_on_the_start():
    found = [
        run(IFCA(step_size=0.1, participation=0.5, **more), TASK, rounds=4, seed=3).assignments >= 0
        for more in ({}, {"least_share": 0.2}, {"restarts": 3, "trial_rounds": 2})
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("seed", range(5, 13))
def test_the_best_of_several_trials_is_taken(seed):
    """By the mean over clients of each one's least loss; the worst model of a start says nothing."""
    algorithm = IFCA(step_size=0.3, averaging="model")
    draws = Randomness.from_seed(seed, "regression", "ifca")
    tries = []
    for _ in range(4):
        start = TASK.initial_models(3, (), draws.initialisation)
        again, state = copy.deepcopy(draws), algorithm.initialise(start, TASK)
        for _ in range(6):
            state = algorithm.step(state, TASK, again)
        losses = TASK.losses(state.models, np.arange(12), again.assignment)
        tries.append((losses.min(axis=-1).mean(), start))
    best = min(tries, key=lambda one: one[0])[1]
    chosen = IFCA(step_size=0.3, averaging="model", restarts=4, trial_rounds=6)
    found = run(chosen, TASK, rounds=0, seed=seed).models[0]
    assert np.array_equal(found, best)
    assert seed != 5 or not np.array_equal(found, tries[0][1])  # or the first would always do


def test_every_replicate_takes_its_own_best_start():
    task = replace(TASK, data="population")
    algorithm = IFCA(step_size=0.3, averaging="model")
    draws = Randomness.from_seed(0, "regression", "ifca")
    starts = np.stack([task.initial_models(3, (20,), draws.initialisation) for _ in range(4)])
    losses = np.empty((4, 20))
    for one in np.ndindex(4, 20):
        state = algorithm.initialise(starts[one], task)
        for _ in range(6):
            state = algorithm.step(state, task, draws)
        losses[one] = task.losses(state.models, np.arange(12), draws.assignment).min(axis=-1).mean()
    chosen = IFCA(step_size=0.3, averaging="model", restarts=4, trial_rounds=6)
    found = run(chosen, task, rounds=0, replicates=20, seed=0).models[0]
    assert len(set(losses.argmin(axis=0))) > 1
    np.testing.assert_array_equal(found, starts[losses.argmin(axis=0), np.arange(20)])


class Undefined(Anywhere):
    """Losses are no numbers where the models' first entries have a positive sum."""

    def losses(self, models, clients, generator):
        undefined = models[..., 0].sum(axis=-1) > 0
        return np.where(undefined[..., None, None], np.nan, super().losses(models, clients, generator))


def test_a_start_whose_losses_are_no_numbers_is_the_last_choice():
    arrays = {name: getattr(TASK, name) for name in ("optima", "covariance", "noise", "labels", "samples")}
    algorithm = IFCA(step_size=1e-9, restarts=9, trial_rounds=1)  # the models stay where they start
    chosen = run(algorithm, Undefined(**arrays), rounds=0, replicates=20).models[0]
    assert (chosen[..., 0].sum(axis=-1) <= 0).sum() >= 17  # else four had nine such starts: 7e-8


ENTRIES = st.sampled_from([0.0, 1.0, 1.5, math.inf, -math.inf, math.nan]) | st.floats(width=16)


@given(st.lists(ENTRIES, min_size=1, max_size=6))
def test_the_first_of_the_smallest_losses_is_chosen_and_nan_is_the_worst(losses):
    order = [math.inf if math.isnan(loss) else loss for loss in losses]
    assert int(argmin_smallest_index(np.array(losses))) == order.index(min(order))


def on_a_line(centers, labels):
    ones = np.ones((len(centers), 1, 1))
    return QuadraticMixture(hessians=ones, centers=np.array(centers)[:, None], labels=labels)


def test_equal_models_are_all_chosen_as_the_first():
    task = on_a_line([-1.0, 1.0, 2.0], [0, 1, 2])
    trace = run(IFCA(step_size=0.5), task, rounds=1, initial=np.full((3, 1), 0.3))
    assert trace.assignments.tolist() == [[0, 0, 0]]
    mirrored = run(
        IFCA(step_size=0.5), on_a_line([0.0, 3.0], [0, 1]), rounds=1, initial=np.array([[1.0], [-1.0]])
    )
    assert mirrored.assignments.tolist() == [[0, 0]]


@pytest.mark.parametrize("averaging", ["gradient", "model"])
def test_a_cluster_that_nobody_chooses_stays_where_it_started(averaging):
    task = on_a_line([0.0, 1.0], [0, 1])
    start = np.array([[0.5], [100.0]])
    trace = run(CFLMGD(step_size=0.5, momentum=0.9, averaging=averaging), task, rounds=5, initial=start)
    np.testing.assert_array_equal(trace.models[:, 1], np.full((6, 1), 100.0))


def test_a_run_that_diverges_to_nan_ends_with_its_round():
    task = QuadraticMixture.random(clusters=2, clients=6, dimension=2, seed=0)
    algorithm = CFLMGD(step_size=1e60, momentum=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(
            Diverged, match=r"step_size is 1e\+60, but it led in round \d+ to NaN in model \d\. Lower"
        ) as end:
            run(algorithm, task, rounds=12)
        trace = run(algorithm, task, rounds=end.value.rounds)
    assert not np.isnan(trace.models).any()
    assert np.abs(trace.models[-1]).max() > 1e100


def test_a_client_that_diverges_leaves_the_others_alone():
    task = on_a_line([0.0, 1.0, 2.0], [0, 1, 2])
    steep = QuadraticMixture(hessians=[[[0.5]], [[1e9]], [[0.5]]], centers=task.centers, labels=task.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        trace = run(Local(step_size=1.0), steep, rounds=34, initial=np.full((3, 1), 5.0))
    assert abs(trace.models[-1, 1, 0]) > 1e300
    np.testing.assert_allclose(trace.models[-1, [0, 2], 0], [0.0, 2.0], rtol=0, atol=5 / 2**33)


@pytest.mark.parametrize("sampling", ["exact", "direct"])
def test_choice_and_gradient_are_of_different_batches(sampling):
    """Assumption 5 of CFL-MGD, E[g_i | choices] = Sigma (chi - theta_i): one batch for both would break it."""
    task = RegressionMixture(
        optima=[[0.0], [1.0]], covariance=[1.0], noise=0.5, labels=[0, 1, 1], samples=4, sampling=sampling
    )
    trace = run(
        IFCA(step_size=1.0), task, rounds=1, replicates=20_000, initial=(start := np.array([[-0.1], [0.9]]))
    )
    residuals = (trace.models[0] - trace.models[1]) * task.clients
    for client, label in enumerate(task.labels):
        for model in range(2):
            chose = trace.assignments[0, :, client] == model
            residuals[chose, model] -= task.expected_gradient(start[model], label)
    assert np.abs(residuals.mean(axis=0) / residuals.std(axis=0)).max() * 20_000**0.5 < 5
