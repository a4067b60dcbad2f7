"""Samples as weights: closed forms, copies of clients, and what must not change where sizes are equal."""

from functools import partial

import numpy as np
import pytest

from clusterproof.algorithms import (
    CFL,
    FedAvg,
    FedProx,
    InvalidArgument,
    PerFedAvg,
    SoFL,
    Task,
    run,
)
from clusterproof.synthetic import QuadraticMixture, from_settings
from clusterproof.theory.exact import affine_rounds

SIZES = np.array([1, 7, 2, 5, 3, 9])


def mixture(clusters=1, sizes=SIZES, clients=6):
    drawn = QuadraticMixture.random(
        clusters=clusters, clients=clients, dimension=2, condition_number=4, spread=0.6, separation=20, seed=3
    )
    stretch = np.linspace(0.5, 1.0, clients)[:, None, None]
    return QuadraticMixture(
        hessians=stretch * drawn.hessians, centers=drawn.centers, labels=drawn.labels, client_samples=sizes
    )


POINTS = [
    (partial(FedAvg, local_steps=1), partial(affine_rounds.fedavg_rest, local_steps=1)),
    (partial(FedAvg, local_steps=4), partial(affine_rounds.fedavg_rest, local_steps=4)),
    (
        partial(FedProx, local_steps=3, proximal=0.4),
        partial(affine_rounds.fedprox_rest, local_steps=3, proximal=0.4),
    ),
    *(
        (
            partial(PerFedAvg, local_steps=2, inner_step_size=0.3, gradient=gradient),
            partial(affine_rounds.per_fedavg_rest, local_steps=2, inner_step_size=0.3, second_order=second),
        )
        for gradient, second in (("first-order", False), ("second-order", True))
    ),
]


@pytest.mark.parametrize(("algorithm", "point"), POINTS)
def test_it_rests_where_the_closed_form_says(algorithm, point):
    task = mixture()
    last = run(algorithm(step_size=0.5, weighting="samples"), task, rounds=400).models[-1, 0]
    expected = point(task.hessians, task.centers, step_size=0.5, shares=SIZES)
    np.testing.assert_allclose(last, expected, atol=1e-10)
    plain = point(task.hessians, task.centers, step_size=0.5)
    assert np.linalg.norm(expected - plain) > 1e-2
    np.testing.assert_allclose(
        run(algorithm(step_size=0.5), task, rounds=400).models[-1, 0], plain, atol=1e-10
    )


def test_two_clients_by_hand():
    """Means 0 and 4 with sizes 1 and 3: the mean of all samples is 3."""
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)), centers=np.array([[0.0], [4.0]]), labels=[0, 0], client_samples=[1, 3]
    )
    last = run(FedAvg(step_size=1.0, weighting="samples"), task, rounds=1).models[-1]
    np.testing.assert_allclose(last, [[3.0]])


@pytest.mark.parametrize(
    "algorithm",
    [
        partial(FedAvg, local_steps=3),
        partial(FedProx, local_steps=3),
        PerFedAvg,
        partial(CFL, warm_up=2, mean_threshold=50.0, client_threshold=50.0),
    ],
)
def test_a_client_of_size_n_is_n_clients_of_size_one(algorithm):
    task = mixture()
    rows = np.repeat(np.arange(6), SIZES)
    copies = QuadraticMixture(
        hessians=task.hessians[rows], centers=task.centers[rows], labels=task.labels[rows]
    )
    kept = {"rounds": 6, "initial": np.array([[3.0, -2.0]])}
    weighed = run(algorithm(step_size=0.4, weighting="samples"), task, **kept)
    copied = run(algorithm(step_size=0.4), copies, **kept)
    last = weighed.models[-1] if len(weighed.models[-1]) == 1 else weighed.models[-1][rows]
    np.testing.assert_allclose(last, copied.models[-1], atol=1e-12)


@pytest.mark.parametrize("kind", ["cfl", "sofl"])
def test_clusters_rest_at_their_own_weighted_point(kind):
    sizes = np.tile(SIZES, 2)
    task = mixture(2, sizes, 12)
    algorithm = (
        CFL(step_size=0.5, warm_up=5, weighting="samples")
        if kind == "cfl"
        else SoFL(step_size=0.5, pretraining=3, grid=3, weighting="samples")
    )
    trace = run(algorithm, task, rounds=300, initial=np.zeros((1, 2)))
    assert len(np.unique(trace.assignments[-1])) == 2
    for cluster in range(2):
        own = task.labels == cluster
        expected = affine_rounds.fedavg_rest(
            task.hessians[own], task.centers[own], step_size=0.5, shares=sizes[own]
        )
        np.testing.assert_allclose(trace.models[-1][own], np.tile(expected, (own.sum(), 1)), atol=1e-9)


@pytest.mark.parametrize("participation", [1.0, 0.5])
def test_equal_sizes_change_no_bit(participation):
    alike = mixture(sizes=np.full(6, 7))
    for weighting in ("clients", "samples"):
        other = FedAvg(step_size=0.3, participation=participation, weighting=weighting)
        found = run(other, alike, rounds=5, seed=4).models
        assert np.array_equal(
            found, run(FedAvg(step_size=0.3, participation=participation), alike, rounds=5, seed=4).models
        )


def test_sizes_come_back_from_the_settings_and_bad_ones_are_refused():
    task = mixture()
    assert np.array_equal(from_settings(task.settings).client_samples, SIZES)
    assert mixture(sizes=[1, 1, 1, 1, 1, 2]).settings["client_samples"] == [1, 1, 1, 1, 1, 2]
    assert "client_samples" not in mixture(sizes=None).settings
    for sizes in ([1, 2], [0] * 6, [1.5] * 6):
        with pytest.raises(InvalidArgument) as refusal:
            mixture(sizes=sizes)
        assert refusal.value.argument == "client_samples"
    for kind in (FedAvg, FedProx, PerFedAvg, CFL, SoFL):
        with pytest.raises(InvalidArgument, match="weighting"):
            kind(step_size=0.1, weighting="sizes")

    class Unsized(Task):
        labels, clusters, dimension, settings = np.zeros(3, int), 1, 1, {"task": "unsized"}
        initial_models = losses = gradients = None

    with pytest.raises(InvalidArgument, match="client_samples"):
        FedAvg(step_size=0.1, weighting="samples").model_count(Unsized())


@pytest.mark.parametrize(("ratio", "cut"), [(None, True), (0.0, True), (0.49, True), (0.51, False)])
def test_cfl_cuts_only_what_noise_does_not_explain(ratio, cut):
    """Updates at angles of plus and minus 30 degrees: sqrt((1 - cos 60 deg) / 2) = sin 30 deg = 1/2."""
    angles = np.radians([30, 30, -30, -30])
    updates = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    algorithm = CFL(step_size=1.0, mean_threshold=0.9, client_threshold=0.9, noise_ratio=ratio)
    members = np.zeros(4, dtype=int)
    algorithm.split(members, np.arange(4), updates, 1.0)
    assert (len(np.unique(members)) == 2) == cut


@pytest.mark.parametrize(("ratio", "cut"), [(0.33, True), (0.35, False)])
def test_the_two_most_alike_across_the_cut_decide_whether_noise_explains_it(ratio, cut):
    """At 40, 20, -20 and -40 degrees the nearest across are 40 degrees apart, the farthest 80: sin 20 = 0.342."""
    angles = np.radians([40, 20, -20, -40])
    updates = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    algorithm = CFL(step_size=1.0, mean_threshold=0.9, client_threshold=0.9, noise_ratio=ratio)
    members = np.zeros(4, dtype=int)
    algorithm.split(members, np.arange(4), updates, 1.0)
    assert members.tolist() == ([0, 0, 1, 1] if cut else [0, 0, 0, 0])


@pytest.mark.parametrize("weighting", ["clients", "samples"])
def test_who_is_ready_to_be_cut_hangs_on_the_weights(weighting):
    """Minimisers 3 and -1: with one sample and with three the weighted mean update at 0 is 0, the plain one 1/2."""
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=[[3.0], [3.0], [-1.0], [-1.0]],
        labels=[0, 0, 1, 1],
        client_samples=[1, 1, 3, 3],
    )
    algorithm = CFL(step_size=0.5, warm_up=0, mean_threshold=0.1, client_threshold=0.2, weighting=weighting)
    trace = run(algorithm, task, rounds=1, initial=np.zeros((1, 1)))
    assert trace.assignments[-1].tolist() == ([0, 0, 1, 1] if weighting == "samples" else [0, 0, 0, 0])


def test_cfls_mean_update_is_weighted_too():
    """Opposite updates: their plain mean is 0, the weighted one is half of each: not at rest."""
    updates = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]])
    algorithm = CFL(step_size=1.0, mean_threshold=0.4, client_threshold=0.5)
    for weights, cut in ((np.ones(4), True), (np.array([3.0, 3.0, 1.0, 1.0]), False)):
        members = np.zeros(4, dtype=int)
        algorithm.split(members, np.arange(4), updates, 1.0, weights)
        assert (len(np.unique(members)) == 2) == cut
