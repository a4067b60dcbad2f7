"""Every algorithm against one-client-at-a-time loops, at every round."""

import itertools

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from option_combinations import COMBINATIONS, describe, drawn_algorithms
from plain_loops import comes_back, discrepancy

from clusterproof.algorithms import CFLMGD, GradientLoss, run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture, strategies

TOLERANCE = 1e-12
SIZES = np.array([4, 30, 9, 17, 6, 25, 12, 8, 21, 1])


class Sampled(QuadraticMixture):
    """Quadratics that claim a number of samples, over which GL-CFL may sum its losses."""

    samples = 6


def with_sizes(task, sizes):
    """The task with sizes of its clients, which weigh its averages, and a number of samples."""
    parts = {"hessians": task.hessians, "centers": task.centers, "labels": task.labels}
    return Sampled(**parts, client_samples=sizes)


QUADRATIC = with_sizes(
    QuadraticMixture.random(
        clusters=3, clients=10, dimension=3, condition_number=5, spread=0.7, separation=1.5, seed=1
    ),
    SIZES,
)
LOGISTIC = LogisticMixture.random(
    clusters=2, clients=6, dimension=3, samples=25, support=9, data="population", seed=4
)
SCORES = [
    (
        GradientLoss,
        {"similarity": similarity, "sign": sign, "loss_reduction": reduction, "empty_cluster": rule},
    )
    for similarity, sign, reduction, rule in itertools.product(
        ("cosine", "euclidean"), ("descent", "as-printed"), ("mean", "sum"), ("when-empty", "always")
    )
]


@st.composite
def runs(draw):
    """A task, an algorithm for it, and starting models far and wide, so that clients change cluster."""
    task = draw(strategies.quadratic_mixtures(spread=(0, 2), shared_hessians=draw(st.booleans())))
    sizes = draw(st.lists(st.integers(1, 30), min_size=task.clients, max_size=task.clients))
    algorithm = draw(drawn_algorithms(task.clients))
    count = algorithm.model_count(task := with_sizes(task, sizes))
    entries = st.lists(st.integers(-6, 6), min_size=count * task.dimension, max_size=count * task.dimension)
    start = draw(st.none() | entries.map(lambda e: np.reshape(np.array(e) / 2.0, (count, task.dimension))))
    return task, algorithm, start


DRAWN = given(runs(), st.integers(0, 5), st.integers(0, 3), st.none() | st.integers(1, 3))


def check_run(drawn, rounds, seed, replicates):
    task, algorithm, start = drawn
    kept = {"rounds": rounds, "seed": seed, "replicates": replicates, "initial": start}
    assert discrepancy(algorithm, task, **kept) <= TOLERANCE


@settings(max_examples=examples(40))
@DRAWN
def test_any_run_is_that_of_the_plain_loops(drawn, rounds, seed, replicates):
    check_run(drawn, rounds, seed, replicates)


@pytest.mark.slow(reason="400 drawn runs")
@settings(max_examples=examples(400))
@DRAWN
def test_any_of_many_runs_is_that_of_the_plain_loops(drawn, rounds, seed, replicates):
    check_run(drawn, rounds, seed, replicates)


@pytest.mark.parametrize("participation", [1.0, 0.4])
@pytest.mark.parametrize("combination", [*COMBINATIONS, *SCORES], ids=describe)
def test_every_combination_of_options_is_that_of_the_plain_loops(combination, participation):
    kind, options = combination
    algorithm = kind(step_size=0.8, participation=participation, **options)
    assert discrepancy(algorithm, QUADRATIC, rounds=8, replicates=2) <= TOLERANCE


@pytest.mark.parametrize(
    "options",
    [
        {"averaging": "model", "local_steps": 2},
        {"averaging": "model", "local_steps": 2, "update_order": "as-printed"},
        {"normalisation": "cluster"},
        {"normalisation": "cluster", "empty_cluster": "freeze"},
    ],
    ids=str,
)
def test_so_is_it_where_a_cluster_of_all_clients_is_empty_for_a_while(options):
    algorithm = CFLMGD(step_size=0.5, momentum=0.8, **options)
    start = 3 * np.random.default_rng(9).standard_normal((3, 3))
    assert comes_back(run(algorithm, QUADRATIC, rounds=10, initial=start).assignments, 3)
    assert discrepancy(algorithm, QUADRATIC, rounds=10, initial=start) <= TOLERANCE


@pytest.mark.parametrize("combination", COMBINATIONS, ids=describe)
def test_so_is_it_where_the_losses_are_no_quadratics(combination):
    kind, options = combination
    algorithm = kind(step_size=0.8, participation=0.5, **options)
    start = 2 * np.random.default_rng(3).standard_normal((algorithm.model_count(LOGISTIC), 3))
    assert discrepancy(algorithm, LOGISTIC, rounds=4, initial=start) <= TOLERANCE
