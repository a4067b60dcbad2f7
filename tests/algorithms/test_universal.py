"""What holds of every algorithm: a round places every participant, and clusters are found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from option_combinations import EVERY, make_some

from clusterproof.algorithms import CFL, FPFC, ProxSkip, SoFL
from clusterproof.experiments.synthetic_runs import make_algorithm
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture, strategies


@settings(max_examples=3)
@given(
    strategies.quadratic_mixtures(clusters=(1, 3), clients=(3, 7), spread=(0, 1)),
    st.sampled_from([1.0, 0.5]),
    st.integers(0, 3),
)
def test_every_round_assigns_each_participant_to_one_model(task, share, seed):
    for kind, options in EVERY:
        lots = options.get("empty_cluster") in ("when-empty", "always")
        participation = 1.0 if lots else share  # fewer participants than clusters cannot be pinned
        algorithm = make_some(kind, step_size=0.5, participation=participation, **options)
        trace = run(algorithm, task, rounds=5, seed=seed, replicates=2)
        count = max(1, round(participation * task.clients))
        if isinstance(algorithm, CFL | SoFL | FPFC | ProxSkip):
            count = task.clients  # the server places the absent, too, or there are none
        assert ((trace.assignments >= 0).sum(axis=-1) == count).all(), algorithm
        assert trace.assignments.max() < trace.models.shape[-2], algorithm
        assert np.isfinite(trace.models).all(), algorithm
        assert (trace.cluster_count >= 1).all(), algorithm


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("name", ["ifca", "cfl-mgd", "gradient-loss", "cfl", "sofl", "fpfc"])
def test_clustered_algorithms_find_the_four_clusters_of_sixty_clients(name):
    """Optima at the corners of a simplex; SoFL's guard may merge clusters whose updates are alike."""
    task = RegressionMixture(
        optima=2 * np.eye(4, 10),
        covariance=np.linspace(0.4, 1.0, 10),
        noise=0.5,
        labels=np.arange(60) % 4,
        samples=50,
    )
    trace = run(make_algorithm(name, {}, task), task, rounds=60, replicates=5)
    assert np.median(trace.adjusted_rand_index) == 1.0
    assert np.median(trace.cluster_count) == 4
